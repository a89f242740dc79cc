"""The door to file systems: where tables lie, how their paths are confined, and bitmaps of rows beside data files."""
