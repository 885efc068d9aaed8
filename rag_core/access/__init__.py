"""Who may come in: the gate, ASGI and no Streamlit."""
