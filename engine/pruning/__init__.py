"""Which files of a table may hold rows that satisfy a condition; knows no table format."""
