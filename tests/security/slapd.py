"""A real directory on local ports: slapd with users, nested groups, and names that are hard to escape."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.certificates import Certificate
from tests.paths import SLAPD, SLAPD_ROOT

SERVICE, SERVICE_PASSWORD = "cn=service,dc=example,dc=com", "service-secret"
# cn → uid and password.
USERS = {
    "ann": ("ann", "annann"),
    "bob": ("b*b()", "bobbob"),
    "comma": ("lee, ann", "comma1"),
    "zoe": ("zoë", "zoëzoë"),
    "twin1": ("twin", "twin1"),
    "twin2": ("twin", "twin2"),
    "bad": ("x:y", "bad"),
    "deep": ("deep", "deep"),
    "many": ("many", "many"),
}
GROUPS = {
    "staff": ["cn=ann,ou=people", "cn=comma,ou=people"],
    "all": ["cn=staff,ou=groups", "cn=loop,ou=groups"],
    "everybody": ["cn=domain users,ou=groups"],
    "loop": ["cn=all,ou=groups"],
    "others": ["cn=bob,ou=people"],
    "level0": ["cn=deep,ou=people"],
    **{f"level{depth}": [f"cn=level{depth - 1},ou=groups"] for depth in range(1, 12)},
    **{f"many{number}": ["cn=many,ou=people"] for number in range(30)},
}


@dataclass(frozen=True)
class Directory:
    url: str
    tls_url: str
    process: subprocess.Popen[bytes]
    folder: Path


def entries() -> str:
    suffix = "dc=example,dc=com"
    lines = [f"dn: {suffix}\nobjectClass: domain\ndc: example\n"]
    lines += [f"dn: ou={name},{suffix}\nobjectClass: organizationalUnit\nou: {name}\n" for name in ("people", "groups")]
    lines.append(
        f"dn: {SERVICE}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: service\n"
        f"userPassword: {SERVICE_PASSWORD}\n"
    )
    for name, (uid, password) in USERS.items():
        lines.append(
            f"dn: cn={name},ou=people,{suffix}\nobjectClass: inetOrgPerson\ncn: {name}\nsn: {name}\nuid: {uid}\n"
            f"userPassword: {password}\n"
        )
    for name, members in GROUPS.items():
        text = "".join(f"member: {member},{suffix}\n" for member in members)
        lines.append(f"dn: cn={name},ou=groups,{suffix}\nobjectClass: groupOfNames\ncn: {name}\n{text}")
    users = f"dn: cn=domain users,ou=groups,{suffix}\nobjectClass: groupOfNames\ncn: domain users\n"
    lines.append(f"{users}member: {SERVICE}\n{_principal(513)}")
    lines.append(
        f"dn: cn=adam,ou=people,{suffix}\nobjectClass: inetOrgPerson\ncn: adam\nsn: adam\nuid: adam\n"
        f"userPassword: adam\n{_principal(1104)}primaryGroupID: 513\n"
    )
    lines.append(f"dn: cn=posix,ou=groups,{suffix}\nobjectClass: posixGroup\ncn: posix\ngidNumber: 1\nmemberUid: ann\n")
    return "\n".join(lines)


def _principal(number: int) -> str:
    """S-1-5-21-1-2-3-number."""
    sid = bytes((1, 5, 0, 0, 0, 0, 0, 5)) + b"".join(part.to_bytes(4, "little") for part in (21, 1, 2, 3, number))
    return f"objectClass: securityPrincipal\nobjectSid:: {base64.b64encode(sid).decode()}\n"


@contextlib.contextmanager
def directory(folder: Path, tls: Certificate) -> Iterator[Directory]:
    """Serves until the body ends."""
    assert SLAPD
    (folder / "db").mkdir()
    schemas = "".join(f"include {SLAPD_ROOT}/etc/ldap/schema/{name}.schema\n" for name in SCHEMAS)
    (folder / "slapd.conf").write_text(f"""{schemas}{ACTIVE_DIRECTORY}
modulepath {SLAPD_ROOT}/usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {tls.certificate}
TLSCertificateKeyFile {tls.key}
pidfile {folder}/slapd.pid
database mdb
suffix dc=example,dc=com
directory {folder}/db
rootdn cn=root,dc=example,dc=com
rootpw rootroot
sizelimit 25
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="dc=example,dc=com" by dn.exact="{SERVICE}" read by self read by * none
""")
    (folder / "entries.ldif").write_text(entries(), encoding="utf-8")
    ports = [_free_port(), _free_port()]
    urls = [f"ldap://127.0.0.1:{ports[0]}", f"ldaps://localhost:{ports[1]}"]
    environment = os.environ | {"LD_LIBRARY_PATH": str(SLAPD_ROOT / "usr/lib/x86_64-linux-gnu")}
    configuration = ["-f", str(folder / "slapd.conf")]
    subprocess.run(
        [SLAPD, "-T", "add", *configuration, "-l", str(folder / "entries.ldif")], check=True, env=environment
    )
    listening = " ".join(f"{url}/" for url in urls)
    process = subprocess.Popen([SLAPD, *configuration, "-h", listening, "-d", "0"], env=environment)
    try:
        _await(ports[0], process)
        yield Directory(urls[0], urls[1], process, folder)
    finally:
        process.kill()
        process.wait()


# Active Directory's additional attributes for users and groups.
ACTIVE_DIRECTORY = """
attributetype ( 1.2.840.113556.1.4.146 NAME 'objectSid' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.98 NAME 'primaryGroupID' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.6 NAME 'securityPrincipal' SUP top AUXILIARY MAY ( objectSid $ primaryGroupID ) )
"""
SCHEMAS = ("core", "cosine", "nis", "inetorgperson")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        assert process.poll() is None, "slapd ended"
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.02)
    raise AssertionError("slapd does not answer")
