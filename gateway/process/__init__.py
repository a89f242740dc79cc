"""The process: its parent, life cycle, sockets, TLS, and supervised threads.

Imports the configuration and values from `gateway.sessions`. Start at `lifecycle.py`.
"""
