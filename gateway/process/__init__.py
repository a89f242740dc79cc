"""The process: its parent, sockets, TLS, and supervised threads.

Imports the configuration, log formats and `gateway/lifecycle.py`. Start at `parent.py`.
"""
