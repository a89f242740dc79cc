"""OPTIMIZE, VACUUM, RESTORE and other maintenance of a table's files and log."""
