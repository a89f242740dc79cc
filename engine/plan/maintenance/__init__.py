"""Plans of statements that maintain a table, by statement."""
