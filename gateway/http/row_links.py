"""Links to result rows for Databricks' clients over Thrift, which fetch them like files in cloud storage.

    /api/2.0/sql/rows/<operation>/<first row>/<number of rows>?expires=…&signature=…

The link itself grants access to these rows (`staged_links.py`). Its base is the client's own URL for the server, or the
public URL. Behind a proxy the client's URL may differ, in particular with TLS: without a public URL there are no links
then, and responses contain the rows.

A link's expiry has no unit in Databricks' protocol: its clients for Java and Node read milliseconds, clients for Python
and Go seconds, for which milliseconds never expire.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from urllib.parse import parse_qsl

from engine.runtime.identity import Identity
from engine.storage.volume_files import FileTransfer
from gateway.http.staged_links import LinkSigner, StagedLinks
from gateway.http.wire import Head
from gateway.results.row_links import LinkedRows, RowLinks

_PATH = re.compile(r"/api/2\.0/sql/rows/([0-9a-f-]{36})/(\d{1,18})/(\d{1,18})")

# Name prefixes, in lower case, of clients that read a link's expiry in seconds.
_READ_SECONDS = ("pydatabrickssqlconnector/", "godatabrickssqlconnector/")
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


@dataclass(frozen=True, slots=True)
class _Links:
    signer: LinkSigner
    base_url: str
    # The client's time units per second.
    units_in_s: int
    staged: StagedLinks

    def link(self, operation_id: uuid.UUID, row_offset: int, row_count: int) -> tuple[str, int]:
        path, expires = self.signer.sign(f"/api/2.0/sql/rows/{operation_id}/{row_offset}/{row_count}")
        return self.base_url + path, expires * self.units_in_s

    def stage(self, identity: Identity, transfer: FileTransfer) -> str:
        return self.base_url + self.staged.add(identity, transfer)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLinkMaker:
    """Creates and parses links."""

    signer: LinkSigner
    staged: StagedLinks
    public_url: str = ""

    def links_for(self, head: Head, *, is_encrypted: bool) -> RowLinks | None:
        """Returns links that a request's sender can follow; None if the client's address for this server is unknown."""
        if self.public_url:
            return self.links_at(self.public_url.rstrip("/"), head)
        host = head.value("host")
        if not host or any(head.value(name) is not None for name in _OF_PROXIES):
            return None
        return self.links_at(f"{'https' if is_encrypted else 'http'}://{host}", head)

    def links_at(self, base_url: str, head: Head) -> RowLinks:
        """Returns links below a URL for the sender of a request."""
        units_in_s = 1 if (head.value("user-agent") or "").lower().startswith(_READ_SECONDS) else 1000
        return _Links(self.signer, base_url, units_in_s, self.staged)

    def matches(self, path: str) -> bool:
        """Returns True if the path is that of a link; its signature is not checked."""
        return _PATH.fullmatch(path) is not None

    def parse(self, target: str) -> LinkedRows:
        """Returns the rows for a link's target; raises `LinkRefused` for an invalid or expired link."""
        path, _, query = target.partition("?")
        parameters = dict(parse_qsl(query))
        self.signer.ensure_valid(path, parameters.get("expires", ""), parameters.get("signature", ""))
        found = _PATH.fullmatch(path)
        assert found is not None, "it was signed here"
        return LinkedRows(uuid.UUID(found[1]), int(found[2]), int(found[3]))
