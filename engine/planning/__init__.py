"""Plans, one statement family per file: what to read or write, decided without touching data."""
