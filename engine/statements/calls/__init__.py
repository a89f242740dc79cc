"""Statement values of CALL."""
