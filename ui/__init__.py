"""What the pages share: shell, access, server. Imports streamlit, unlike the engine."""
