"""Partition tuples of data files: as text, as one struct, and as SHOW PARTITIONS prints them."""
