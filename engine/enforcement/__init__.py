"""What a table demands of the rows that are written to it: an ordered tuple of rules, one file each."""
