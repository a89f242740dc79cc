"""Plans of statements that keep the files of tables in order."""
