"""Authentication: one file per method, and the choice among methods.

    exchange.py         the interface for front ends: a mechanism's messages in, an identity or an error out
    chain.py            the choice of the method for given credentials
    start.py            the configured methods, and forbidden configurations

A method receives only credentials in its own format: a token is never sent to a directory as a password. Every
rejection has the same text, whatever the reason. Imports `engine.runtime.identity` and the catalog's tokens, and no
front end. Start at `exchange.py`.
"""
