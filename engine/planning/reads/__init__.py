"""Plans of queries: scans of listed files, answers from the log."""
