"""Keep the catalog: generations of its state, in files or in memory."""
