"""The steps of `deploy/Dockerfile` make a server that answers and asks for a login."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.image import Image, instructions
from tests.paths import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HTTP, THRIFT = 28980, 28981


def test_container_runs_as_a_user_with_a_number() -> None:
    steps = dict(instructions(DOCKERFILE.read_text(encoding="utf-8")))
    assert re.fullmatch(r"[1-9][0-9]+:[1-9][0-9]+", steps["USER"])
    assert steps["EXPOSE"] == "8080 10000 15002" and steps["VOLUME"] == "/var/lib/delta-gateway"


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    made = Image(Path(tempfile.mkdtemp(prefix="image-", dir=os.environ.get("IMAGE_TMPDIR"))))
    try:
        made.build(DOCKERFILE)
        yield made
    finally:
        made.remove()


@pytest.mark.slow
@pytest.mark.debootstrap
@pytest.mark.timeout(3600)
def test_first_start_asks_for_the_login_that_its_log_has(image: Image) -> None:
    ports = {"GATEWAY_SERVER_HTTP_PORT": str(HTTP), "GATEWAY_SERVER_THRIFT_PORT": str(THRIFT)}
    command = image.arguments([*image.entrypoint, *image.command], ports)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output = ""
        while "stops it" not in output:
            line = process.stdout.readline() if process.stdout else ""
            assert line, output
            output += line
        password = re.findall(r"the user admin with the password (\S+) ", output)
        assert len(password) == 1 and "accepted risk: passwords and data cross the network" in output
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/api/2.0/catalog/catalogs", timeout=60)
        subprocess.run(image.arguments(image.health, {}), check=True, timeout=60)
        login = ("admin", password[0])
        assert len(login[1]) == 20 and answers(login)
    finally:
        process.terminate()
        process.wait(120)


def answers(login: tuple[str, str]) -> bool:
    manager = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    manager.add_password(None, f"http://127.0.0.1:{HTTP}/", *login)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(manager))
    with opener.open(f"http://127.0.0.1:{HTTP}/api/2.0/catalog/catalogs", timeout=60) as response:
        return int(response.status) == 200


@pytest.mark.slow
@pytest.mark.debootstrap
@pytest.mark.timeout(3600)
def test_compressed_image_has_at_most_900_mb(image: Image) -> None:
    archive = subprocess.Popen(
        ["tar", "--create", "--one-file-system", "--directory", image.root, "."], stdout=subprocess.PIPE
    )
    packed = subprocess.run(["gzip", "--stdout"], stdin=archive.stdout, stdout=subprocess.PIPE, check=True).stdout
    assert archive.wait() == 0
    unpacked = subprocess.run(
        ["du", "--one-file-system", "--summarize", "--block-size=1000000", image.root], capture_output=True, check=True
    )
    print(f"compressed {len(packed) / 1e6:.0f} MB, unpacked {unpacked.stdout.split()[0].decode()} MB")
    assert len(packed) <= 900_000_000
