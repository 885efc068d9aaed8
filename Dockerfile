# Commonplace in a container, for a server or a NAS: docker compose up -d (see docs/container.md).
#
# Checked without Docker: every line was run in its order in a fresh Debian 12 with Python 3.11, and then, without a
# network, on a read-only file system and as this user: init, a search by meaning, serve, the health check, an export.
# The image itself has not been built where this was written.
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends tesseract-ocr \
    && rm -rf /var/lib/apt/lists/*

# The packages first: they change less often than the program.
COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY rag_core /src/rag_core
COPY ui /src/ui
COPY pages /src/pages
COPY app.py /src/
COPY .streamlit/config.toml /src/.streamlit/
RUN python -m pip install --no-cache-dir -c /src/constraints.txt /src && rm -r /src

# The model is in the image, so that a container starts without a network.
ENV COMMONPLACE_HOME=/data COMMONPLACE_MODELS=/models
RUN COMMONPLACE_HOME=/tmp/home commonplace model install && rm -rf /tmp/home

RUN useradd --uid 1000 --create-home reader && mkdir /data /notes && chown reader /data
USER reader
VOLUME /data

# The app listens on 127.0.0.1 alone, also here: publishing a port does not reach it, on purpose.
CMD ["commonplace", "serve"]
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=3)"]
