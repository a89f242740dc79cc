"""Requests of the server's own go to the address that is configured, and nowhere else: redirects are not followed.

A request that was sent on would take its headers, and the token in them, to a host that the answer names.
"""

from __future__ import annotations

import urllib.request
from typing import Any


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """With it an opener raises `HTTPError` for an answer that is a redirect."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
