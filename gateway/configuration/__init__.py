"""Settings: their declarations, and the loader for file, environment and command line.

Imports values from the configured parts. Start at `config.py`; `loader.py` reads the settings.
"""
