"""Tables that are found in folders, and where tables may lie."""
