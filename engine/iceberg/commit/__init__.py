"""Changes of an Iceberg table's metadata: updates as values, what applies them, and where versions are kept."""
