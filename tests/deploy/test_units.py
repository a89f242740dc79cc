"""The systemd units: several gateways on one machine run as a single one does."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest

from gateway.configuration.loader import load_config
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
UNITS = ("gateway.service", "gateway@.service", "gateway.target")


def test_template_differs_from_the_unit_in_names_only() -> None:
    one, template = (
        [line for line in (DEPLOY / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        for name in ("gateway.service", "gateway@.service")
    )
    changed = [line for line in difflib.unified_diff(one, template, n=0) if line.startswith(("+", "-"))][2:]
    assert changed == [
        "-Description=Delta SQL gateway",
        "+Description=Delta SQL gateway %i",
        "+PartOf=gateway.target",
        "-ExecStart=/opt/delta-gateway/.venv/bin/delta-gateway serve --config /etc/delta-gateway/gateway.toml"
        " --port-file /run/delta-gateway/ports.json",
        "+ExecStart=/opt/delta-gateway/.venv/bin/delta-gateway serve --config /etc/delta-gateway/gateway.toml"
        " --port-file /run/delta-gateway/%i/ports.json",
        "+EnvironmentFile=/etc/delta-gateway/gateway-%i.env",
        "-RuntimeDirectory=delta-gateway",
        "+RuntimeDirectory=delta-gateway/%i",
        "-WantedBy=multi-user.target",
        "+WantedBy=gateway.target",
    ]


@pytest.mark.systemd
def test_units_have_no_remarks_of_systemd(tmp_path: Path) -> None:
    for name in UNITS:
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/delta-gateway/.venv/bin/delta-gateway", "/bin/true"))
    units = [tmp_path / name.replace("@.", "@1.") for name in UNITS]
    found = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


def test_page_has_ports_for_each_instance_that_the_server_accepts() -> None:
    page = (ROOT / "docs" / "operations" / "systemd.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in page.splitlines() if line.strip().startswith("GATEWAY_")]
    ports = []
    for start in range(0, len(lines), 2):
        server = load_config(None, dict(line.split("=", 1) for line in lines[start : start + 2]), {}).server
        ports += [server.http_port, server.thrift_port]
    assert len(ports) == len(set(ports)) == 4
