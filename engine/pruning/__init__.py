"""Which files of a table can hold rows of a condition, whatever the format of the table."""
