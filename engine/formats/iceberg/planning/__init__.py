"""Plans of statements that only Iceberg has."""
