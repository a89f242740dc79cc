"""INSERT."""
