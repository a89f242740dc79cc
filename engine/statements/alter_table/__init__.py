"""ALTER TABLE: one value for each change of a table's definition."""
