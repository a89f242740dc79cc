"""Where the catalog is kept: generations of its state, in files or in memory."""
