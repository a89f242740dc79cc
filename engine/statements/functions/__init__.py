"""SQL functions of the catalog and of sessions."""
