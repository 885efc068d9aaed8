"""The app's pages, a folder each. Imports streamlit, unlike the engine."""
