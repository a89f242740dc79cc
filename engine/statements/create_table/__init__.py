"""CREATE TABLE, its copies and conversions, and DROP TABLE."""
