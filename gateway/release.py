"""The program's release; `pyproject.toml` reads its version from here."""

VERSION = "0.1.0"
