"""Tables as every format offers them: snapshots, scans, changes, rules for rows, transactions."""
