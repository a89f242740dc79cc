"""The process: its parent, life cycle, sockets, TLS, and threads that must not end.

Imports the configuration and values of `gateway.sessions`. Start at `lifecycle.py`.
"""
