"""Signed heads: when they are written, and how they prove changes in an audit log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from catalog.conditions import AuditKeyUnusable, SecretReadable, SecretUnusable
from catalog.system.audit_table import log_files
from gateway.audit.audit_log import AuditLog
from gateway.audit.chain import ChainEnd, follow, format_line
from gateway.audit.signed_digests import ChainSigner, private_key, public_key, read_chain_ends
from gateway.cli.audit import main
from tests.gateway.http.conftest import eventually

KEY = Ed25519PrivateKey.generate()
PEM, PKCS8 = Encoding.PEM, PrivateFormat.PKCS8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Creates both halves of the key, and an audit log with seven lines, every second one and the last signed."""
    (tmp_path / "key.pem").write_bytes(KEY.private_bytes(PEM, PKCS8, NoEncryption()))
    (tmp_path / "key.pem").chmod(0o600)
    (tmp_path / "public.pem").write_bytes(KEY.public_key().public_bytes(PEM, PublicFormat.SubjectPublicKeyInfo))
    signer = ChainSigner(private_key(tmp_path / "key.pem"), tmp_path / "heads.jsonl", lines=2, seconds=1000)
    audit_log = AuditLog(tmp_path / "audit", signer=signer)
    for number in range(7):
        audit_log.write({"event": "e", "number": number})
    audit_log.close()
    return tmp_path


def chain_ends(folder: Path) -> list[bytes]:
    return (folder / "heads.jsonl").read_bytes().splitlines()


def verified(folder: Path) -> int:
    return main(
        ["verify", str(folder / "audit"), "--heads", str(folder / "heads.jsonl"), "--key", str(folder / "public.pem")]
    )


def test_chain_is_signed_periodically_and_at_close(folder: Path) -> None:
    assert list(read_chain_ends(chain_ends(folder), public_key(folder / "public.pem"))) == [2, 4, 6, 7]
    assert verified(folder) == 0
    assert (folder / "heads.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_line_is_covered_after_a_while(tmp_path: Path) -> None:
    signer = ChainSigner(KEY, tmp_path / "heads.jsonl", seconds=0.05)
    signer.note(ChainEnd(1, "a" * 64))
    assert eventually(lambda: len(chain_ends(tmp_path)) == 1)
    signer.note(ChainEnd(2, "b" * 64))
    assert eventually(lambda: len(chain_ends(tmp_path)) == 2)
    signer.close()
    assert len(chain_ends(tmp_path)) == 2


def test_lines_that_are_missing_at_the_end_are_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = log_files(folder / "audit")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:5]))
    assert main(["verify", str(folder / "audit")]) == 0  # the chain alone does not show it
    assert verified(folder) == 1 and "it ends before line 7" in capsys.readouterr().err


def test_rewritten_audit_log_is_detected(folder: Path) -> None:
    (file,) = log_files(folder / "audit")
    chain_end, lines = ChainEnd(), []
    for _ in range(7):
        lines.append(format_line(chain_end, {"event": "forged"}))
        chain_end = follow(chain_end, lines[-1])
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert main(["verify", str(folder / "audit")]) == 0
    assert verified(folder) == 1


@pytest.mark.parametrize("field", ["seq", "digest", "time", "signature"])
def test_changed_signature_is_detected(folder: Path, field: str) -> None:
    reported = [json.loads(line) for line in chain_ends(folder)]
    reported[1][field] = reported[0][field] if field != "time" else "2000-01-01T00:00:00.000+00:00"
    (folder / "heads.jsonl").write_text("\n".join(map(json.dumps, reported)))
    assert verified(folder) == 1


def test_truncated_signature_is_ignored(folder: Path) -> None:
    content = (folder / "heads.jsonl").read_bytes()
    (folder / "heads.jsonl").write_bytes(content[:-30])
    assert verified(folder) == 0


def test_keys_that_are_none_are_refused(folder: Path) -> None:
    other = folder / "other.pem"
    other.write_bytes(generate_private_key(SECP256R1()).private_bytes(PEM, PKCS8, NoEncryption()))
    other.chmod(0o600)
    for path in (other, folder / "public.pem"):
        path.chmod(0o600)
        with pytest.raises(AuditKeyUnusable):
            private_key(path)
    with pytest.raises(SecretUnusable, match="no such file"):
        private_key(folder / "missing.pem")
    with pytest.raises(AuditKeyUnusable):
        public_key(folder / "key.pem")
    assert private_key(folder / "key.pem")
    (folder / "key.pem").chmod(0o644)
    with pytest.raises(SecretReadable):
        private_key(folder / "key.pem")
