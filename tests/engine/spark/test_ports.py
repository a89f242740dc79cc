"""Spark's own ports: nobody gets in without the secret that it made up for itself."""

from __future__ import annotations

import socket

import pytest

from engine.spark.session import ExecSession

pytestmark = pytest.mark.spark


def test_the_settings_are_those_of_a_process_of_its_own(spark: ExecSession) -> None:
    assert spark.get_setting("spark.authenticate") == "true"
    assert spark.get_setting("spark.network.crypto.enabled") == "true"


def test_a_port_of_spark_hears_nobody_who_does_not_authenticate(spark: ExecSession) -> None:
    """A Spark RPC message without the handshake only reaches the handshake."""
    port = int(spark.get_setting("spark.driver.port") or 0)
    empty_call = b"\x03" + (1).to_bytes(8, "big") + (0).to_bytes(4, "big")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall((8 + len(empty_call)).to_bytes(8, "big") + empty_call)
        with connection.makefile("rb") as answers:
            answer = answers.read(int.from_bytes(answers.read(8), "big") - 8)
    assert b"SaslRpcHandler" in answer and b"RequestMessage" not in answer
