"""Storage credentials: sources of secrets, their recipients, and redaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from catalog.conditions import SecretReadable
from catalog.errors import SqlError
from catalog.store.credentials import Credential, hadoop_settings, options_for, use_credentials
from catalog.store.remote import open_files
from engine.storage.storage import open_storage
from gateway.configuration.loader import load_config
from gateway.configuration.storage import open_credentials

SECRET = "s3cr3t/+="


class Vault(MemoryFileSystem):
    """Opens for who has the key."""

    protocol = "vault"
    cachable = False

    def __init__(self, key: str = "", secret: str = "", **given: Any) -> None:
        super().__init__(**given)
        if (key, secret) != ("AKIA", SECRET):
            raise PermissionError("who is that?")


@pytest.fixture(autouse=True)
def none_are_left() -> Iterator[None]:
    fsspec.register_implementation("vault", Vault, clobber=True)
    yield
    use_credentials(())


def opened(folder: Path, text: str, **environment: str) -> tuple[Credential, ...]:
    file = folder / "gateway.toml"
    file.write_text(text)
    return open_credentials(load_config(file, {}, {}).storage, environment)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def test_a_folder_is_opened_with_the_credential_of_its_url(tmp_path: Path, secret: Path) -> None:
    found = opened(
        tmp_path,
        '[[storage.credentials]]\nname = "lake"\nurls = ["vault://lake"]\n'
        f'options = {{key = "env:KEY", secret = "file:{secret}"}}\n',
        KEY="AKIA",
    )
    with pytest.raises(PermissionError):
        open_storage("vault://lake/t")
    use_credentials(found)
    assert open_storage("vault://lake/t").list_names("_delta_log") == []
    assert open_files("vault://lake/catalog").names("") == []
    for other in ("vault://other/t", "vault://lakes/t"):
        with pytest.raises(PermissionError):
            open_storage(other)
    assert SECRET not in repr(found)


def test_s3_credentials_are_set_per_bucket_on_both_sides(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "token").write_text("session")
    (tmp_path / "credentials" / "token").chmod(0o600)
    use_credentials(
        opened(
            tmp_path,
            '[[storage.credentials]]\nname = "s3"\nurls = ["s3a://lake", "s3://lake/", "s3a://more/part"]\n'
            f'access_key_id = "AKIA"\nsecret_access_key = "file:{secret}"\nsession_token = "systemd:token"\n'
            'endpoint = "https://minio.example.com"\nregion = "eu-west-1"\n'
            '[[storage.credentials]]\nname = "azure"\nurls = ["abfss://c@acc.dfs.core.windows.net"]\n'
            'account_key = "env:ACCOUNT"\n',
            CREDENTIALS_DIRECTORY=str(tmp_path / "credentials"),
            ACCOUNT="a-key",
        )
    )
    assert (
        options_for("s3a://lake/t")
        == options_for("s3a://more/part/t")
        == {
            "key": "AKIA",
            "secret": SECRET,
            "token": "session",
            "client_kwargs": {"endpoint_url": "https://minio.example.com", "region_name": "eu-west-1"},
        }
    )
    assert options_for("s3://lake/t") == options_for("s3a://lake/t")
    assert not options_for("s3a://more/t")
    assert not options_for("s3://lakes/t")
    account = "acc.dfs.core.windows.net"
    assert options_for(f"abfss://c@{account}/t") == {"account_key": "a-key", "account_name": "acc"}
    settings = hadoop_settings()
    assert settings["fs.s3a.bucket.lake.secret.key"] == settings["fs.s3a.bucket.more.secret.key"] == SECRET
    assert settings["fs.s3a.bucket.lake.aws.credentials.provider"].endswith("TemporaryAWSCredentialsProvider")
    assert settings["fs.s3a.bucket.lake.endpoint.region"] == "eu-west-1"
    assert settings[f"fs.azure.account.key.{account}"] == "a-key"


def test_the_longest_url_counts() -> None:
    use_credentials(
        Credential(name=name, urls=(url,), options={"n": name})
        for name, url in (("whole", "vault://lake"), ("part", "vault://lake/a"))
    )
    found = [options_for(f"vault://lake{path}").get("n") for path in ("", "/b/t", "/a", "/a/t", "/ab")]
    assert found == ["whole", "whole", "part", "part", "whole"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('secret_access_key = "plain"', "secret_access_key is a secret"),
        ('options = {account_token = "plain"}', "account_token is a secret"),
        ('options = {connection_string = "AccountKey=plain"}', "connection_string is a secret"),
        ('hadoop = {"fs.x.password" = "plain"}', "fs.x.password is a secret"),
        ('secret_access_key = "env:MISSING"', "env:MISSING has no value"),
        ('secret_access_key = "systemd:x"', "systemd:x has no value"),
        ('secret_access_key = "file:/nowhere/at/all"', "/nowhere/at/all"),
        (
            'hadoop = {a = "1"}\n[[storage.credentials]]\nname = "d"\nurls = ["s3a://x"]\nhadoop = {a = "2"}',
            "c has another",
        ),
    ],
)
def test_unusable_credentials_are_reported_without_secret(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        opened(tmp_path, f'[[storage.credentials]]\nname = "c"\nurls = ["s3a://lake"]\n{table}\n')
    assert said in str(caught.value) and "plain" not in str(caught.value)


def test_a_file_that_others_may_read_is_refused(tmp_path: Path, secret: Path) -> None:
    secret.chmod(0o644)
    with pytest.raises(SecretReadable):
        opened(
            tmp_path,
            f'[[storage.credentials]]\nname = "c"\nurls = ["s3a://l"]\nsecret_access_key = "file:{secret}"\n',
        )
