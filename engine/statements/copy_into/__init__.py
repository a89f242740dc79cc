"""COPY INTO: files that are there, loaded once."""
