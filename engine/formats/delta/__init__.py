"""Delta as a format of tables: how its own statements run, over `engine.delta`."""
