"""Statements that hold others: EXECUTE IMMEDIATE and SQL scripts. Each statement inside takes the road by itself."""
