"""The app's pages, one folder for each page. Only this package and the pages import streamlit."""
