"""SQL scripts, EXECUTE IMMEDIATE and the IDENTIFIER clause."""
