"""USE, SET and RESET."""
