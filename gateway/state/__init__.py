"""The state folder: sessions, statements and results that survive the end of the process.

Imports `engine` and nothing of the gateway above it. Start at `journal.py`, which appends a session's records to its
file; `folder.py` has the folders, and which process owns them. `gateway/recovery.py` restores what is in them.
"""
