"""Settings: their declarations, and how they are read from a file, the environment and the command line."""
