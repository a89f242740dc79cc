"""Keys for a small S3, valid below one prefix, until a time: the key itself encodes both.

The secret is derived from the key and a secret shared by the two servers, which issue and verify keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

_SERVERS = b"known to both servers"


def give_out(prefix: str, seconds: float) -> dict[str, str]:
    """Returns S3FileIO properties for `bucket/folder`."""
    ends_ms = round((time.time() + seconds) * 1000)
    key = base64.urlsafe_b64encode(json.dumps([prefix, ends_ms]).encode()).decode().rstrip("=")
    return {
        "s3.access-key-id": key,
        "s3.secret-access-key": secret_of(key),
        "s3.session-token": token_of(key),
        "s3.session-token-expires-at-ms": str(ends_ms),
    }


def secret_of(key: str) -> str:
    return hmac.new(_SERVERS, key.encode(), hashlib.sha256).hexdigest()


def token_of(key: str) -> str:
    return f"session-{secret_of(key)[:16]}"


def opens(key: str, path: str) -> bool:
    """Returns whether a key is good for `bucket/object` by now."""
    try:
        prefix, ends_ms = json.loads(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))
    except ValueError:
        return False
    return f"{path.rstrip('/')}/".startswith(f"{prefix}/") and time.time() * 1000 < ends_ms
