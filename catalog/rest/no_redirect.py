"""Requests from the server use only the configured address: redirects are not followed.

A redirected request would send its headers, including the token, to a host that the response names.
"""

from __future__ import annotations

import urllib.request
from typing import Any


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes an opener raise `HTTPError` for a redirect response."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Returns None, by which urllib raises `HTTPError` for the redirect instead of following it."""
        return None
