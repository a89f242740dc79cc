"""The process: its parent, life cycle, sockets, TLS, threads that must not end."""
