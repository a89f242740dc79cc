"""Plans of statements that write rows."""
