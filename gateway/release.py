"""The release of this program; `pyproject.toml` takes its version from here."""

VERSION = "0.1.0"
