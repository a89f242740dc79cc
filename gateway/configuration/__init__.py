"""Settings: their declarations, and how they are read from a file, the environment and the command line.

Imports values of the parts that they configure. Start at `config.py`; `loader.py` reads them.
"""
