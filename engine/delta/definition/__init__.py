"""The definition of a table: protocol, metadata and properties joined, and the changes of them."""
