"""Settings from a file, the environment and flags; unknown settings are rejected with a named error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalog.conditions import ConfigInvalidValue, ConfigUnknownKey, ConfigUnreadable
from catalog.errors import SqlError
from gateway.configuration.config import Config, LogLevel, settings
from gateway.configuration.loader import load_config
from gateway.sessions.limits import Limits


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway.toml"


def value_of(config: Config, name: str) -> object:
    section, _, key = name.partition(".")
    return getattr(getattr(config, section), key)


def test_later_sources_win(file: Path) -> None:
    file.write_text("[server]\nhttp_port = 1\nthrift_port = 1\n[lake]\nfolder = 'one'\n")
    environment = {"GATEWAY_SERVER_HTTP_PORT": "2", "GATEWAY_SERVER_THRIFT_PORT": "2", "HOME": "/root"}
    config = load_config(file, environment, {"server.http_port": 3, "server.host": None})
    assert (config.server.http_port, config.server.thrift_port, config.lake.folder) == (3, 2, "one")
    assert config.server.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "in_file", "in_environment", "expected"),
    [
        ("server.host", "'::1'", "::1", "::1"),
        ("server.http_port", "0", "0", 0),
        ("server.drain_deadline_s", "5", "5", 5.0),
        ("server.drain_deadline_s", "0.5", "0.5", 0.5),
        ("lake.allowed_roots", "['/a', '/b']", "['/a', '/b']", ("/a", "/b")),
        ("lake.folder", "'123'", "123", "123"),
        ("spark.conf", "{'a.b' = 'c'}", '{"a.b" = "c"}', {"a.b": "c"}),
        ("log.level", "'debug'", "debug", LogLevel.DEBUG),
    ],
)
def test_values_are_read_as_their_type(
    file: Path, name: str, in_file: str, in_environment: str, expected: object
) -> None:
    section, _, key = name.partition(".")
    file.write_text(f"[{section}]\n{key} = {in_file}\n")
    from_environment = load_config(None, {f"GATEWAY_{section}_{key}".upper(): in_environment}, {})
    assert value_of(load_config(file, {}, {}), name) == value_of(from_environment, name) == expected


@pytest.mark.parametrize(
    ("content", "key", "nearest"),
    [
        ("[server]\nhtpp_port = 1", "server.htpp_port", "server.http_port"),
        ("[sever]\nhttp_port = 1", "sever", "server"),
        ("[server]\nfolder = 'x'", "server.folder", "lake.folder"),
        ("http_port = 1", "http_port", "server.http_port"),
        ("[lake.more]\nx = 1", "lake.more", "lake."),
        ("[spark]\ndriver-memory = '1g'", "spark.driver-memory", "spark.driver_memory"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(file: Path, content: str, key: str, nearest: str) -> None:
    file.write_text(content)
    with pytest.raises(ConfigUnknownKey) as caught:
        load_config(file, {}, {})
    assert caught.value.key == key and caught.value.source == str(file)
    assert nearest in caught.value.nearest


def test_an_unknown_variable_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigUnknownKey, match="GATEWAY_SERVER_HTTP_PORT"):
        load_config(None, {"GATEWAY_SEVER_HTTP_PORT": "1"}, {})


@pytest.mark.parametrize(
    "variable",
    [
        "GATEWAY_SERVICE_HOST",
        "GATEWAY_SERVICE_PORT",
        "GATEWAY_SERVICE_PORT_HTTP",
        "GATEWAY_PORT",
        "GATEWAY_PORT_8080_TCP_ADDR",
        "GATEWAY_TESTDATA",
        "OTHER_SERVER_HOST",
    ],
)
def test_variables_of_others_are_left_alone(variable: str) -> None:
    assert load_config(None, {variable: "tcp://10.0.0.1:8080"}, {}) == Config()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[server]\nhttp_port = 'x'", 'sets server.http_port to "x"; a whole number from 0 to 65535 is expected'),
        ("[server]\nhttp_port = 70000", "from 0 to 65535"),
        ("[server]\nhttp_port = -1", "from 0 to 65535"),
        ("[server]\nhttp_port = 1.0", "a whole number"),
        ("[server]\nhttp_port = true", "a whole number"),
        ("[server]\nhost = 1", "a string"),
        ("[server]\ndrain_deadline_s = nan", "a number, at least 0,"),
        ("[server]\ndrain_deadline_s = inf", "a number, at least 0,"),
        ("[statements]\ntimeout_s = -0.5", "a number, at least 0,"),
        ("[statements]\nrunning_max = 0", "from 1 to 1024"),
        ("[lake]\nallowed_roots = '/a'", "a list of strings"),
        ("[lake]\nallowed_roots = ['/a', 1]", "a list of strings"),
        ("[spark]\nconf = {'spark.ui.enabled' = false}", "a table of strings"),
        ("[log]\nlevel = 'loud'", "one of debug, info, warning, error"),
        ("server = 1", "a section, as in [server],"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_expected_and_where_it_stands(
    file: Path, content: str, message: str
) -> None:
    file.write_text(content)
    with pytest.raises(ConfigInvalidValue) as caught:
        load_config(file, {}, {})
    assert message in caught.value.message and str(file) in caught.value.message


@pytest.mark.parametrize("text", ["", "x", "1\nextra = 2", "'1'"])
def test_a_wrong_variable_is_named(text: str) -> None:
    with pytest.raises(ConfigInvalidValue, match="GATEWAY_SERVER_HTTP_PORT sets server.http_port"):
        load_config(None, {"GATEWAY_SERVER_HTTP_PORT": text}, {})


@pytest.mark.parametrize("content", [b"[server", b"\xff", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigUnreadable, match=str(file)):
        load_config(file, {}, {})


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="no such file"):
        load_config(file, {}, {})


def test_the_registrys_limits_are_the_settings() -> None:
    assert Config().limits() == Limits()
    config = load_config(None, {"GATEWAY_SESSIONS_MAX": "7", "GATEWAY_STATEMENTS_TIMEOUT_S": "1"}, {})
    assert (config.limits().sessions_max, config.limits().statement_timeout_s) == (7, 1.0)


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        (
            "public_url",
            ["", "http://a", "https://sql.example.com:8443", "https://a.b/lake/x", "http://[::1]:80/"],
            ["sql.example.com", "ftp://a", "https://", "https://a b", "https://a/?x=1", "https://u@a", "https://a#b"],
        ),
        (
            "http_trusted_proxies",
            [(), ("127.0.0.1",), ("10.0.0.0/8", "::1"), ("10.1.2.3/8",)],
            [("proxy",), ("10.0.0.0/33",), ("127.0.0.1", "")],
        ),
    ],
)
def test_where_proxies_are(key: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert getattr(load_config(None, {}, {f"server.{key}": value}).server, key) == value
    for value in bad:
        with pytest.raises(ConfigInvalidValue, match=f"server.{key}"):
            load_config(None, {}, {f"server.{key}": value})


def test_every_setting_has_a_variable_of_its_own() -> None:
    variables = [setting.variable for setting in settings()]
    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        (
            "spark.master",
            ["local", "local[*]", "local[4]", "local[2,3]", "local[*, 2]", "spark://h:7077", "spark://a:1,b:2", "yarn"]
            + ["k8s://https://h:443", "local-cluster[2,1,1024]"],
            ["", "locl[*]", "local[", "local[0]", "local[x]", "spark://", "spark://h", "http://h:1", "yarn-cluster"],
        ),
        (
            "spark.driver_memory",
            ["2g", "2G", "512m", "2048mb", "524288k", "1t"],
            ["", "lots", "2", "2 g", "-2g", "2.5g", "511m", "0g", "1p", "5000t", "9" * 40 + "g"],
        ),
        ("spark.local_dir", ["", "<folder>"], ["<folder>/missing", "<folder>/file", "/proc"]),
    ],
)
def test_a_value_that_spark_could_not_start_with_is_refused_by_the_name_of_its_setting(
    tmp_path: Path, key: str, good: list[str], bad: list[str]
) -> None:
    (tmp_path / "file").touch()
    section, name = key.split(".")
    variable = f"GATEWAY_{section}_{name}".upper()
    for value in (item.replace("<folder>", str(tmp_path)) for item in good):
        assert getattr(load_config(None, {variable: value}, {}).spark, name) == value
    for value in (item.replace("<folder>", str(tmp_path)) for item in bad):
        with pytest.raises(ConfigInvalidValue, match=f"{variable} sets {key} to .* is expected"):
            load_config(None, {variable: value}, {})
        file = tmp_path / "gateway.toml"
        file.write_text(f"[{section}]\n{name} = {json.dumps(value)}\n")
        with pytest.raises(ConfigInvalidValue, match=f"gateway.toml sets {key} to .* is expected"):
            load_config(file, {}, {})


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ("[sessions]\nmax = 7", 0),
        ('[sessions]\nmax = 7\n[authentication]\nmethods = ["password"]', 6),
        ('[sessions]\nmax = 1\n[authentication]\nmethods = ["password"]', 1),
        ('[sessions]\nmax = 7\nper_user_max = 2\n[authentication]\nmethods = ["password"]', 2),
    ],
)
def test_users_who_log_in_leave_sessions_to_others(tmp_path: Path, settings: str, limit: int) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(settings)
    assert load_config(file, {}, {}).limits().sessions_per_user_max == limit


def test_groups_are_tables_of_a_list(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[statements]\nrunning_max = 10\nscan_bytes_max = 7\n[authentication]\nmethods = ["password"]\n'
        '[[admission.groups]]\nname = "etl"\nmembers = ["@etl"]\nweight = 2\nrunning_max = 5\n'
        '[[admission.groups]]\nname = "nightly"\nclasses = ["maintenance"]\nscan_bytes_max = 9\nabandoned_max = 2\n'
    )
    rules = load_config(file, {}, {}).limits().admission
    etl, nightly = rules.groups
    assert (etl.members, etl.weight, etl.running_max, etl.running_per_user_max) == (("@etl",), 2, 5, 2)
    assert (etl.scan_bytes_max, nightly.scan_bytes_max, nightly.running_max) == (7, 9, 10)
    assert rules.default.running_per_user_max == 5
    assert (etl.abandoned_max, nightly.abandoned_max, rules.default.abandoned_max) == (6, 2, 6)
    assert load_config(file, {}, {}).limits().abandoned_per_user_max == 4
    assert (Config().limits().abandoned_per_user_max, Config().limits().admission.default.abandoned_max) == (0, 0)
    assert Config().limits().admission.default.running_per_user_max == 0  # names prove nothing there


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('name = "etl"\nwieght = 2', "weight"),
        ("weight = 2", "a name each"),
        ('name = "default"', "not default or metadata"),
        ('name = "a b"', "letters"),
        ('name = "a"\nweight = 0', "from 1 to 1000"),
        ('name = "a"\nclasses = ["x"]', "read, write, maintenance"),
        ('name = "a"\n[[admission.groups]]\nname = "a"', "a name each"),
    ],
)
def test_a_group_that_is_wrong_is_refused(tmp_path: Path, table: str, said: str) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f"[[admission.groups]]\n{table}\n")
    with pytest.raises(SqlError, match=said):
        load_config(file, {}, {})
