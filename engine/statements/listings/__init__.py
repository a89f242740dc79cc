"""The lists that drivers ask for."""
