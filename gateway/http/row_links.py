"""Links to rows of results that Databricks' clients got over Thrift, as they fetch them from a cloud's storage.

    /api/2.0/sql/rows/<operation>/<first row>/<number of rows>?expires=…&signature=…

The link carries the right to these rows (`links.py`). It begins as the client addressed the server, or with the public
URL; behind proxies whose word is taken but without a public URL there are none, and rows come with the answers.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from urllib.parse import parse_qsl

from gateway.http.links import LinkSigner
from gateway.http.wire import Head
from gateway.row_links import RowLinks

_PATH = re.compile(r"/api/2\.0/sql/rows/([0-9a-f-]{36})/(\d{1,18})/(\d{1,18})")


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows that a link is for."""

    operation_id: uuid.UUID
    row_offset: int
    row_count: int


@dataclass(frozen=True, slots=True)
class _Links:
    signer: LinkSigner
    base_url: str

    def link(self, operation_id: uuid.UUID, row_offset: int, row_count: int) -> tuple[str, int]:
        path, expires = self.signer.sign(f"/api/2.0/sql/rows/{operation_id}/{row_offset}/{row_count}")
        return self.base_url + path, expires


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLinkMaker:
    """Makes links, and reads those that come back."""

    signer: LinkSigner
    public_url: str = ""
    is_behind_proxy: bool = False

    def links_for(self, head: Head, *, is_encrypted: bool) -> RowLinks | None:
        """Links that the sender of a request can follow; None where its address for this server is not known."""
        if self.public_url:
            return _Links(self.signer, self.public_url.rstrip("/"))
        host = head.value("host")
        if self.is_behind_proxy or not host:
            return None
        return _Links(self.signer, f"{'https' if is_encrypted else 'http'}://{host}")

    def matches(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def parse(self, target: str) -> LinkedRows:
        """What a link's target is for; raises `LinkRefused` for one that is not ours or not good any more."""
        path, _, query = target.partition("?")
        parameters = dict(parse_qsl(query))
        self.signer.ensure_valid(path, parameters.get("expires", ""), parameters.get("signature", ""))
        found = _PATH.fullmatch(path)
        assert found is not None, "it was signed here"
        return LinkedRows(uuid.UUID(found[1]), int(found[2]), int(found[3]))
