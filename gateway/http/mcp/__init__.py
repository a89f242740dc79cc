"""The Model Context Protocol (MCP): tools for agents, over Streamable HTTP, on the statement API's sessions.

Imports the statement API and its imports, and no SDK: the protocol's server side is one POST with a handful of
JSON-RPC methods, while the package `mcp` needs an ASGI server, its own HTTP client and pydantic at run time. The tests
use its client. Start at `routes.py`; `messages.py` has the protocol, `tools.py` the descriptions of the tools.
"""
