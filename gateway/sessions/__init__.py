"""Sessions and operations, their limits, and which statement runs next."""
