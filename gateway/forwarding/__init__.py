"""Requests for a session of another gateway, which are forwarded to it.

Imports `gateway.state` and nothing of the front ends. Start at `forwarder.py`, which finds the owner and sends the
request; `signed_calls.py` has the signature by which the owner accepts the identity, and `http_client.py` the request.
"""
