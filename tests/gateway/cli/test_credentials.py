"""Storage credentials in the catalog: encrypted files, the command that keeps them, and servers that use them."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.conditions import CredentialInvalid, CredentialSealed, CredentialsKeyInvalid
from catalog.errors import SqlError
from catalog.store.credentials import Credential, hadoop_settings, options_for, use_credentials
from catalog.store.file_store import remove_catalog_leftovers
from catalog.store.sealed_credentials import CredentialStore, seal, unseal
from gateway.cli.credentials import main
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.configuration.storage import use_configured_credentials

SECRET = "s3cr3t/+="
FIELDS = f'access_key_id = "AKIA"\nsecret_access_key = "{SECRET}"\nendpoint = "http://minio:9000"\n'
OPTIONS = {"key": "AKIA", "secret": SECRET, "client_kwargs": {"endpoint_url": "http://minio:9000"}}
URLS = ("s3://lake",)


@pytest.fixture(autouse=True)
def none_are_left() -> Iterator[None]:
    yield
    use_credentials(())


class Site:
    """A configuration with a key, and the command's calls for it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        self.file = folder / "gateway.toml"
        self.key = folder / "key"
        self.catalog = folder / "catalog"
        (folder / "lake").mkdir()
        self.configure(self.key)

    def configure(self, key: Path | None, more: str = "") -> None:
        setting = "" if key is None else f'[storage]\ncredentials_key = "file:{key}"\n'
        self.file.write_text(
            f'[lake]\nfolder = "{self.folder}/lake"\ncatalog_folder = "{self.catalog}"\n{setting}{more}'
        )

    @property
    def config(self) -> Config:
        return load_config(self.file, {}, {})

    def run(self, command: str, *arguments: str, given: str = "") -> int:
        self.patch.setattr("sys.stdin", io.StringIO(given))
        return main([command, *arguments, "--config", str(self.file)])

    def add(self, name: str = "lake", given: str = FIELDS, url: str = URLS[0]) -> int:
        return self.run("add", name, "--url", url, given=given)

    def start(self) -> None:
        """Uses the credentials as a server does when it starts."""
        use_credentials(())
        use_configured_credentials(self.config.storage, self.config.catalog_folder, {})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path, monkeypatch)
    assert main(["key", str(made.key)]) == 0
    assert made.key.stat().st_mode & 0o777 == 0o600
    return made


def test_server_uses_credentials_of_the_catalog(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.start()
    assert options_for("s3://lake/t") == {}
    assert site.add() == 0
    site.start()
    assert options_for("s3a://lake/t") == OPTIONS
    assert hadoop_settings()["fs.s3a.bucket.lake.secret.key"] == SECRET
    assert site.run("list") == 0
    shown = capsys.readouterr().out
    assert shown.split("\t")[:3] == ["lake", "s3://lake", "access_key_id endpoint secret_access_key"]
    assert SECRET not in shown and "AKIA" not in shown


def test_files_have_no_secret_and_no_key_and_are_private(site: Site) -> None:
    site.add()
    files = [file for file in site.catalog.rglob("*") if file.is_file()]
    assert any(file.name.endswith(".credential.json") for file in files)
    for file in files:
        text = file.read_text()
        assert SECRET not in text and "AKIA" not in text and site.key.read_text().strip() not in text
        assert file.stat().st_mode & 0o077 == 0
    (sealed,) = CredentialStore(str(site.catalog)).load()
    assert sealed.sealed not in repr(sealed)
    assert SECRET not in repr(Credential(name="x", urls=URLS, options=OPTIONS))


def test_credential_is_replaced_and_removed(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.add()
    assert site.add(given=FIELDS.replace(SECRET, "other")) == 0
    site.start()
    assert options_for("s3://lake")["secret"] == "other"
    assert site.run("remove", "lake") == 0
    site.start()
    assert options_for("s3://lake") == {}
    assert site.run("remove", "lake") == 1
    assert "The catalog has no storage credential lake." in capsys.readouterr().err


def test_two_sealings_of_one_credential_differ() -> None:
    key = bytes(32)
    one, two = (seal("a", URLS, {"region": "x"}, key) for _ in range(2))
    assert one.sealed != two.sealed
    assert unseal(one, key) == unseal(two, key) == {"region": "x"}


@pytest.mark.parametrize("change", ["urls", "name", "sealed", "cut"])
def test_changed_file_is_not_decrypted(site: Site, change: str) -> None:
    """Or a secret would be sent to the store of whoever can write the catalog's files."""
    site.add()
    (file,) = site.catalog.rglob("*.credential.json")
    file.chmod(0o600)
    found = json.loads(file.read_text())
    sealed = found["sealed"]
    found |= {
        "urls": {"urls": ["s3://lake", "s3://theirs"]},
        "name": {"name": "other"},
        "sealed": {"sealed": f"{sealed[:20]}{'A' if sealed[20] != 'A' else 'B'}{sealed[21:]}"},
        "cut": {"sealed": sealed[:12]},
    }[change]
    file.write_text(json.dumps(found))
    with pytest.raises(SqlError, match="it describes other" if change == "name" else "its file was changed") as caught:
        site.start()
    assert caught.value.condition == ("CATALOG_UNREADABLE" if change == "name" else "STORAGE_CREDENTIAL_INVALID.SEALED")
    assert options_for("s3://theirs") == options_for("s3://lake") == {}


def test_other_key_and_missing_key_stop_the_start(site: Site, tmp_path: Path) -> None:
    site.add()
    site.configure(None)
    with pytest.raises(CredentialSealed, match=r"lake .*storage\.credentials_key is not set"):
        site.start()
    assert main(["key", str(tmp_path / "other")]) == 0
    site.configure(tmp_path / "other")
    with pytest.raises(CredentialSealed, match=r"added with another key \([0-9a-f]{16}\)"):
        site.start()
    site.configure(site.key)
    site.start()
    assert options_for("s3://lake") == OPTIONS


@pytest.mark.parametrize(
    ("text", "reason"), [("!", "it is not Base64"), ("QUJD", "it has 3 bytes, not 32"), ("", "has no value")]
)
def test_unusable_key_is_named_without_its_text(site: Site, text: str, reason: str) -> None:
    site.key.write_text(text)
    with pytest.raises(CredentialsKeyInvalid, match=reason) as caught:
        site.add()
        site.start()
        site.configure(site.key)
        use_configured_credentials(site.config.storage, site.config.catalog_folder, {})
    assert "QUJD" not in caught.value.full_message


def test_key_is_not_replaced(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    before = site.key.read_bytes()
    assert main(["key", str(site.key)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert site.key.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "url", "reason"),
    [
        (f'secret_access_key = "{SECRET}', "s3://lake", "the standard input is not TOML"),
        ("", "s3://lake", "the standard input has no fields"),
        (f'secret = "{SECRET}"', "s3://lake", "`secret`"),
        (f'options = ["{SECRET}"]', "s3://lake", "`object`"),
        (FIELDS, "lake", "urls is not a list of URLs"),
    ],
)
def test_unusable_credential_is_not_added_and_its_secret_not_shown(
    site: Site, capsys: pytest.CaptureFixture[str], given: str, url: str, reason: str
) -> None:
    assert site.add(given=given, url=url) == 1
    error = capsys.readouterr().err
    assert reason in error and SECRET not in error
    assert CredentialStore(str(site.catalog)).load() == ()


def test_credential_that_contradicts_the_configuration_is_named(site: Site) -> None:
    site.add()
    more = (
        '[[storage.credentials]]\nname = "configured"\nurls = ["s3://lake/part"]\nregion = "eu"\nendpoint = "http://o"'
    )
    site.configure(site.key, more)
    with pytest.raises(CredentialInvalid, match=r"configured has another value of fs\.s3a\.bucket\.lake\.endpoint"):
        site.start()


def test_leftovers_of_killed_writers_are_removed_and_credentials_stay(site: Site) -> None:
    site.add()
    left = site.catalog / "credentials" / "objects" / "gone@1-00000000.credential.json"
    left.write_text("{}")
    assert remove_catalog_leftovers(str(site.catalog), time.time() + 1) == 1
    assert not left.exists()
    assert [each.name for each in CredentialStore(str(site.catalog)).load()] == ["lake"]
