"""The Helm chart: its values, and the manifests that Helm renders. No cluster runs them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyspark
import pytest
import yaml

from gateway.configuration.config import Config
from gateway.configuration.loader import load_config
from gateway.release import VERSION
from tests.deploy.chart_readme import CHART, README, readme
from tests.paths import HELM

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
Manifest = dict[str, Any]
# Further values for rendering, and the kinds that they add or remove.
CASES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "defaults": ({}, set(), set()),
    "one gateway without a volume": (
        {"replicas": 1, "persistence": {"enabled": False}},
        set(),
        {"PersistentVolumeClaim", "PodDisruptionBudget"},
    ),
    "Spark in the gateway": ({"spark": {"onKubernetes": False}}, set(), {"Role", "RoleBinding"}),
    "an ingress and TLS": (
        {
            "ingress": {"enabled": True, "className": "nginx", "tlsSecretName": "i", "trustedProxies": ["10.0.0.0/8"]},
            "tls": {"secretName": "certificate"},
        },
        {"Ingress"},
        set(),
    ),
    "everything else": (
        {
            "persistence": {"existingClaim": "shared"},
            "networkPolicy": {
                "clients": [{"namespaceSelector": {"matchLabels": {"team": "bi"}}}],
                "storage": [{"ipBlock": {"cidr": "10.1.0.0/16"}}],
            },
            "env": [{"name": "AWS_REGION", "value": "eu-west-1"}],
            "spark": {"conf": {"spark.executor.memory": "9g", "spark.sql.shuffle.partitions": 64}},
            "image": {"tag": "7", "pullSecrets": ["registry"]},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "sql", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "podAnnotations": {"a": "b"},
            "podLabels": {"c": "d"},
            "service": {"thrift": {"type": "LoadBalancer", "annotations": {"e": "f"}}},
            "serviceAccount": {"annotations": {"g": "h"}},
        },
        set(),
        {"PersistentVolumeClaim"},
    ),
}
KINDS = {
    "ConfigMap", "NetworkPolicy", "PersistentVolumeClaim", "PodDisruptionBudget", "Role", "RoleBinding", "Service",
    "ServiceAccount", "StatefulSet",
}  # fmt: skip


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, timeout=120)


def render(folder: Path, values: dict[str, Any], release: str = "gateway") -> list[Manifest]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    found = helm("template", release, str(CHART), "--namespace", "sql", "--values", str(folder / "values.yaml"))
    assert found.returncode == 0, found.stderr
    return [each for each in yaml.safe_load_all(found.stdout) if each]


def of_kind(manifests: list[Manifest], kind: str) -> Iterator[Manifest]:
    return (each for each in manifests if each["kind"] == kind)


def pod(manifests: list[Manifest]) -> Any:
    (found,) = of_kind(manifests, "StatefulSet")
    return found["spec"]["template"]["spec"]


def variables(manifests: list[Manifest], name: str = "gateway-delta-gateway-0") -> dict[str, str]:
    """Returns a container's variables, with references in parentheses replaced as Kubernetes does."""
    (container,) = pod(manifests)["containers"]
    return {each["name"]: each["value"].replace("$(POD_NAME)", name) for each in container["env"] if "value" in each}


def config_of(manifests: list[Manifest], folder: Path) -> Config:
    """Returns the configuration of a gateway as it reads it."""
    (config,) = of_kind(manifests, "ConfigMap")
    (folder / "gateway.toml").write_text(config["data"]["gateway.toml"])
    given = {name: value for name, value in variables(manifests).items() if name.startswith("GATEWAY_")}
    assert given.pop("GATEWAY_SPARK_LOCAL_DIR") == "/scratch"  # must exist
    return load_config(folder / "gateway.toml", given, {})


def test_readme_is_generated_and_each_value_has_a_meaning() -> None:
    assert README.read_text(encoding="utf-8") == readme(), "make reference writes it"
    assert "|  |\n" not in readme()


def test_schema_has_each_value_and_no_other() -> None:
    def keys(value: Any) -> Any:
        if isinstance(value, dict) and value and "properties" in value:
            return {key: keys(each) for key, each in value["properties"].items()}
        return {}

    def shape(value: Any, known: Any) -> Any:
        return {key: shape(value[key], known[key]) if known[key] else {} for key in value} if known else {}

    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    known = keys(schema)
    assert known.pop("global") == {}
    assert shape(VALUES, known) == known


def test_chart_has_the_versions_of_the_package_and_its_spark() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == VERSION
    assert VALUES["spark"]["executor"]["image"] == f"apache/spark:{pyspark.__version__}"
    assert VALUES["terminationGracePeriodSeconds"] > Config().server.drain_deadline_s


@pytest.mark.helm
def test_helm_has_no_remarks() -> None:
    found = helm("lint", "--strict", str(CHART))
    assert found.returncode == 0, found.stdout


@pytest.mark.helm
@pytest.mark.parametrize("case", CASES)
def test_rendered_manifests_have_the_schemas_of_kubernetes(tmp_path: Path, case: str) -> None:
    values, added, removed = CASES[case]
    manifests = render(tmp_path, values)
    assert {each["kind"] for each in manifests} == (KINDS | added) - removed
    for manifest in manifests:
        for version in ("1.27", "1.37"):
            kubernetes_validate.validate(manifest, version, strict=True)
    names = [(each["kind"], each["metadata"]["name"]) for each in manifests]
    assert len(names) == len(set(names))


@pytest.mark.helm
@pytest.mark.parametrize("case", CASES)
def test_gateway_accepts_its_configuration(tmp_path: Path, case: str) -> None:
    values, *_ = CASES[case]
    manifests = render(tmp_path, values)
    config = config_of(manifests, tmp_path)
    assert config.state.address == "gateway-delta-gateway-0.gateway-delta-gateway-peers.sql.svc:8080"
    assert (config.server.http_port, config.server.thrift_port) == (8080, 10000)
    assert bool(config.server.accepted_risks) == (not config.server.tls_certificate)
    assert "gateway-delta-gateway-http.sql.svc" in config.server.http_hosts
    mounted = {each["mountPath"]: each["name"] for each in pod(manifests)["containers"][0]["volumeMounts"]}
    for file in (config.lake.catalog_folder, config.state.folder, config.authentication.token_file):
        assert file.startswith("/var/lib/delta-gateway/") and mounted["/var/lib/delta-gateway"] == "data"
    assert config.authentication.password_file == "/etc/delta-gateway/secrets/users/users"
    assert mounted["/etc/delta-gateway/secrets/users"] == "secret-users"
    assert {each["name"] for each in pod(manifests)["volumes"]} == set(mounted.values())


@pytest.mark.helm
def test_executors_reach_their_driver(tmp_path: Path) -> None:
    manifests = render(tmp_path, {})
    conf = config_of(manifests, tmp_path).spark.conf
    services = {each["metadata"]["name"]: each["spec"] for each in of_kind(manifests, "Service")}
    host, service, *_ = conf["spark.driver.host"].split(".")
    assert services[service]["clusterIP"] == "None" and services[service]["publishNotReadyAddresses"]
    assert host == conf["spark.kubernetes.driver.pod.name"] == conf["spark.kubernetes.executor.podNamePrefix"]
    ports = {each["name"]: each["port"] for each in services[service]["ports"]}
    expected = {"driver": conf["spark.driver.port"], "blocks": conf["spark.driver.blockManager.port"]}
    assert {name: str(ports[name]) for name in expected} == expected
    labels = {
        key.removeprefix("spark.kubernetes.executor.label."): value
        for key, value in conf.items()
        if key.startswith("spark.kubernetes.executor.label.")
    }
    policies = {
        each["metadata"]["name"].rpartition("-")[2]: each["spec"] for each in of_kind(manifests, "NetworkPolicy")
    }
    assert policies["executors"]["podSelector"] == {"matchLabels": labels}
    to_driver = [rule for rule in policies["gateways"]["ingress"] if {"port": "driver"} in rule["ports"]]
    assert [rule["from"] for rule in to_driver] == [[{"podSelector": {"matchLabels": labels}}]]
    (stateful,) = of_kind(manifests, "StatefulSet")
    assert stateful["spec"]["serviceName"] == service
    assert policies["gateways"]["podSelector"] == stateful["spec"]["selector"]
    (binding,), (account,), (role,) = (of_kind(manifests, kind) for kind in ("RoleBinding", "ServiceAccount", "Role"))
    name = account["metadata"]["name"]
    assert name == pod(manifests)["serviceAccountName"] == binding["subjects"][0]["name"]
    assert name == conf["spark.kubernetes.authenticate.driver.serviceAccountName"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert "secrets" not in role["rules"][0]["resources"]


@pytest.mark.helm
def test_own_settings_of_spark_win(tmp_path: Path) -> None:
    conf = config_of(render(tmp_path, CASES["everything else"][0]), tmp_path).spark.conf
    assert conf["spark.executor.memory"] == "9g" and conf["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.helm
def test_names_of_services_become_no_settings(tmp_path: Path) -> None:
    """A release called gateway has a service whose variables would begin with GATEWAY_."""
    manifests = render(tmp_path, {}, "gateway")
    assert any(each["metadata"]["name"].startswith("gateway") for each in of_kind(manifests, "Service"))
    assert pod(manifests)["enableServiceLinks"] is False


@pytest.mark.helm
def test_pods_are_unprivileged_and_read_secrets_by_their_group(tmp_path: Path) -> None:
    found = pod(render(tmp_path, {}))
    (container,) = found["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert found["securityContext"]["runAsNonRoot"] and found["securityContext"]["runAsUser"] == 10001
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    secret = next(each for each in found["volumes"] if each["name"] == "secret-users")
    assert secret["secret"]["defaultMode"] == 0o440
    assert not pod(render(tmp_path, {"spark": {"onKubernetes": False}}))["automountServiceAccountToken"]


@pytest.mark.helm
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"replicas": 2, "persistence": {"enabled": False}}, "replicas above 1 need persistence.enabled"),
        ({"replica": 2}, "replica"),
        ({"spark": {"driverPort": "x"}}, "driverPort"),
        ({"terminationGracePeriodSeconds": 30}, "terminationGracePeriodSeconds"),
        ({"secrets": [{"name": "a/b", "secretName": "c"}]}, "secrets"),
    ],
)
def test_values_that_cannot_work_are_rejected_with_their_name(
    tmp_path: Path, values: dict[str, Any], reason: str
) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    found = helm("template", "r", str(CHART), "--values", str(tmp_path / "values.yaml"))
    assert found.returncode != 0
    assert reason in found.stderr
