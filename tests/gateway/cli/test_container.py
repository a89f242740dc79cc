"""The image's entry point: a first user, or accepted risks, and the checks of its health."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.authenticators.password_file import PasswordFile
from gateway.cli.container import ANYBODY, CLEARTEXT, Preparation, WrongVariable, prepare
from gateway.configuration.config import Risk
from gateway.configuration.loader import load_config
from tests.gateway.http.conftest import Live, serving_http
from tests.paths import ROOT


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    return tmp_path / "state"


def prepared(state: Path, *arguments: str, **environment: str) -> Preparation:
    return prepare(environment, arguments, state, state.parent / "lake")


def test_first_start_creates_a_user_whose_password_is_shown_once(state: Path) -> None:
    made = prepared(state)
    (message,) = made.messages
    password = message.partition("with the password ")[2].partition(" ")[0]
    assert len(password) == 20
    assert PasswordFile(state / "users").log_in("admin", password).principal == "admin"
    again = prepared(state)
    assert again.messages == [] and again.variables == made.variables
    assert again.warnings == [f"accepted risk: {Risk.CLEARTEXT}"], "which is reported at each start"
    config = load_config(None, made.variables, {})
    assert config.authentication.methods == ("password", "token") and config.authentication.admins == ("admin",)
    assert (config.server.host, config.server.accepted_risks) == ("0.0.0.0", (Risk.CLEARTEXT,))
    assert (config.lake.folder, config.lake.catalog_folder) == (str(state.parent / "lake"), str(state / "catalog"))


def test_two_variables_open_the_server(state: Path) -> None:
    made = prepared(state, **{ANYBODY: "yes", CLEARTEXT: "true"})
    config = load_config(None, made.variables, {})
    assert set(config.server.accepted_risks) == set(Risk) and config.authentication.methods == ("anonymous",)
    assert made.warnings == [f"accepted risk: {Risk.ANYBODY}", f"accepted risk: {Risk.CLEARTEXT}"]
    assert not (state / "users").exists()


def test_environment_variable_accepts_its_risk_only(state: Path) -> None:
    config = load_config(None, prepared(state, **{ANYBODY: "yes"}).variables, {})
    assert config.server.accepted_risks == (Risk.ANYBODY,), "so that the start still requires TLS"


def test_certificate_leaves_no_risk(state: Path) -> None:
    made = prepared(state, GATEWAY_SERVER_TLS_CERTIFICATE="/etc/tls/cert.pem")
    assert made.warnings == [] and "GATEWAY_SERVER_ACCEPTED_RISKS" not in made.variables


def test_configured_authentication_is_left_alone(state: Path) -> None:
    made = prepared(state, GATEWAY_AUTHENTICATION_METHODS='["jwt"]', **{CLEARTEXT: "yes"})
    assert not any(name.startswith("GATEWAY_AUTHENTICATION_") for name in made.variables)
    assert json.loads(made.variables["GATEWAY_SERVER_ACCEPTED_RISKS"]) == [Risk.CLEARTEXT]
    assert not (state / "users").exists()


def test_configuration_file_and_variables_win(state: Path) -> None:
    assert prepared(state, "--config", "gateway.toml") == Preparation()
    made = prepared(state, "/other", "--host=::", GATEWAY_LAKE_CATALOG_FOLDER="/catalog")
    assert not made.variables.keys() & {"GATEWAY_LAKE_FOLDER", "GATEWAY_LAKE_CATALOG_FOLDER", "GATEWAY_SERVER_HOST"}
    with pytest.raises(WrongVariable, match="accepted_risks in the file"):
        prepared(state, "--config=gateway.toml", **{ANYBODY: "yes"})


def test_variable_that_is_neither_yes_nor_no_is_refused(state: Path) -> None:
    with pytest.raises(WrongVariable, match=f"{CLEARTEXT} is maybe"):
        prepared(state, **{CLEARTEXT: "maybe"})


def test_empty_lake_is_reported(state: Path) -> None:
    (state.parent / "lake" / "orders").rmdir()
    made = prepared(state)
    assert made.messages[0].endswith("is empty, so a sample lake is served; mount a folder with tables there")
    assert "GATEWAY_LAKE_FOLDER" not in made.variables


def test_other_commands_run_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["container", "config"]) == 0
    assert "[server]" in capsys.readouterr().out


@pytest.fixture
def live() -> Iterator[Live]:
    with serving_http() as live:
        yield live


def test_health_is_checked_at_the_configured_port(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ports.json"
    monkeypatch.setenv("GATEWAY_SERVER_PORT_FILE", str(file))
    assert main(["health"]) == 1
    file.write_text(json.dumps({"http": live.port, "thrift": 1}))
    assert main(["health"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "ready"
    live.registry.drain(0)
    file.write_text(json.dumps({"http": 1, "thrift": 1}))
    assert main(["health"]) == 1


def test_dockerfile_has_no_remarks_of_hadolint() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hadolint"), "deploy/Dockerfile"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
