"""Authentication: the methods by which a client shows who it is, a file each, and the choice among them.

    exchange.py         what the front ends see: a mechanism's messages go in, an identity or an error comes out
    chain.py            which method checks which credentials
    start.py            the methods that the configuration asks for, and what it may not ask for

A method gets credentials that have its shape, and nobody else's: a token is never sent to a directory as a password.
What is refused is refused in the same words, whatever was wrong. Imports `engine.runtime.identity` and the catalog's
tokens, and no front end. Start at `exchange.py`.
"""
