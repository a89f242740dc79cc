"""`deploy/compose.yaml`: its schema, its files, and the parts that fit together. The containers are not started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.authenticators.password_file import load_users
from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from tests.paths import HAPROXY, ROOT
from tests.server_process import ServerProcess

DEPLOY = ROOT / "deploy"
FOLDER = DEPLOY / "compose"
FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
GATEWAYS = ("gateway-1", "gateway-2")
SECRETS = ("grafana-password", "minio-password", "prometheus-token")


def config_of(name: str) -> Config:
    variables = {key: str(value) for key, value in SERVICES[name]["environment"].items()}
    return load_config(FOLDER / "gateway.toml", variables, {})


def test_file_has_the_schema_of_the_compose_specification() -> None:
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", "vendor.compose-spec"]
    found = subprocess.run([*command, str(FILE)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_mounted_files_exist_and_secrets_are_files_that_setup_makes() -> None:
    for config in COMPOSE["configs"].values():
        assert (DEPLOY / config["file"]).is_file()
    mounts = [volume.split(":") for service in SERVICES.values() for volume in service.get("volumes", ())]
    for source, *_ in mounts:
        if source.startswith("."):
            assert (DEPLOY / source).exists() or source == "./compose/secrets"
        else:
            assert source in COMPOSE["volumes"]
    assert COMPOSE["secrets"] == {name: {"file": f"compose/secrets/{name}"} for name in SECRETS}
    text = FILE.read_text(encoding="utf-8")
    assert not re.search(r"(?i)(password|secret|token)\w*: *[\"']?\w", re.sub(r"_FILE: /run/secrets/\S+", "", text))


def test_services_run_again_are_watched_and_are_published_on_loopback_only() -> None:
    for name, service in SERVICES.items():
        assert not service["image"].endswith(":latest")
        if name != "setup":
            assert service["restart"] == "unless-stopped"
            # The image of the gateways has a health check of its own.
            assert "healthcheck" in service or name in GATEWAYS
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert [port.rpartition(":")[0] for port in published] == ["127.0.0.1:8080", "127.0.0.1:10000", "127.0.0.1:3000"]
    assert COMPOSE["networks"]["cluster"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "cluster" in service.get("networks", ())} == {
        *GATEWAYS, "spark-master", "spark-worker-1", "spark-worker-2", "minio",
    }  # fmt: skip


def test_gateways_share_everything_but_their_addresses() -> None:
    one, two = map(config_of, GATEWAYS)
    assert (one.state.address, two.state.address) == ("gateway-1:8080", "gateway-2:8080")
    assert [config.spark.conf["spark.driver.host"] for config in (one, two)] == list(GATEWAYS)
    assert [SERVICES[name]["hostname"] for name in GATEWAYS] == list(GATEWAYS)
    assert (one.lake, one.authentication, one.storage) == (two.lake, two.authentication, two.storage)
    assert one.state.folder == two.state.folder == "/var/lib/delta-gateway/state"
    for name in GATEWAYS:
        assert "gateway:/var/lib/delta-gateway" in SERVICES[name]["volumes"]
        grace_s = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))
        assert grace_s > Config().server.drain_deadline_s
    assert {*GATEWAYS, "load-balancer"} <= set(one.server.http_hosts)
    cores = int(one.spark.conf["spark.cores.max"]) + int(two.spark.conf["spark.cores.max"])
    workers = [service for name, service in SERVICES.items() if name.startswith("spark-worker")]
    assert cores <= sum(int(worker["environment"]["SPARK_WORKER_CORES"]) for worker in workers)


def test_load_balancer_and_prometheus_have_both_gateways() -> None:
    text = (FOLDER / "haproxy.cfg").read_text(encoding="utf-8")
    servers = re.findall(r"^ +server (\S+) (\S+)$", text, re.MULTILINE)
    assert servers == [(name, f"{name}:{port}") for port in (8080, 10000) for name in GATEWAYS]
    assert re.findall(r"bind :(\d+)", text) == ["8080", "10000"]
    scraped = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = scraped["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"{name}:8080" for name in GATEWAYS]}]
    assert job["authorization"] == {"credentials_file": "/run/secrets/prometheus-token"}


@pytest.mark.haproxy
def test_haproxy_accepts_its_configuration() -> None:
    assert HAPROXY is not None
    found = subprocess.run([HAPROXY, "-c", "-f", FOLDER / "haproxy.cfg"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Returns a folder with the secrets and the state that setup makes; `chown` only writes its arguments."""
    for name in ("secrets", "state", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "chown").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/owners\n')
    (tmp_path / "bin" / "id").write_text("#!/bin/sh\necho 0\n")
    for name in ("chown", "id"):
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "output").write_text(set_up(tmp_path))
    return tmp_path


def set_up(folder: Path) -> str:
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SECRETS": str(folder / "secrets"), "STATE": str(folder / "state")}
    return subprocess.run(
        ["sh", FOLDER / "setup.sh"], env=environment, check=True, capture_output=True, text=True, timeout=200
    ).stdout


def test_setup_makes_secrets_once_for_the_users_of_the_containers(made: Path) -> None:
    assert sorted(file.name for file in (made / "secrets").iterdir()) == sorted(SECRETS)
    assert [user.name for user in load_users(made / "state" / "users").values()] == ["admin"]
    for file in (*(made / "secrets").iterdir(), made / "state" / "users", made / "state" / "tokens"):
        assert file.stat().st_mode & 0o777 == 0o600
    owners = dict(line.split()[:0:-1] for line in (made / "owners").read_text().splitlines())
    assert {Path(file).name: owner for file, owner in owners.items()} == {
        "minio-password": "10001:10001",
        "grafana-password": "472:472",
        "prometheus-token": "65534:65534",
        "state": "10001:10001",
    }
    assert len(re.findall(r"password of the user admin is \S{32} ", (made / "output").read_text())) == 1
    before = {file: file.read_bytes() for file in made.rglob("*") if file.is_file() and file.name != "owners"}
    assert "password of the user admin is" not in set_up(made)
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.spark
def test_gateway_with_these_settings_gives_metrics_to_the_token_of_prometheus(made: Path) -> None:
    """Its lake and its Spark are local here."""
    text = (FOLDER / "gateway.toml").read_text(encoding="utf-8")
    (made / "gateway.toml").write_text(text.replace("/var/lib/delta-gateway", f"{made}/state"))
    (made / "lake").mkdir()
    process = ServerProcess(made, str(made / "lake"), "--config", str(made / "gateway.toml"),
                            GATEWAY_STORAGE_CREDENTIALS="[]")  # fmt: skip
    try:
        url = f"http://localhost:{process.ports()['http']}/metrics"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, timeout=60)
        token = (made / "secrets" / "prometheus-token").read_text().strip()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b"\ngateway_up 1\n" in answer.read()
    finally:
        process.popen.kill()
        process.end()
