"""Real clients behind one small interface: run a statement, get rows as text.

Values have one spelling, so that a test states once what every client must return: NULL, true, numbers as Python prints
them, timestamps without trailing zeros.
"""

from __future__ import annotations

import csv
import datetime as dt
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import impala.dbapi
import pyspark
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive

JARS = str(Path(pyspark.__file__).parent / "jars" / "*")
TEXT_COLUMNS_MAX = 60


class StatementFailed(Exception):
    """A client reported an error; the text is its complete message."""


class Driver(Protocol):
    def run(self, text: str) -> list[list[str]]:
        """Returns a statement's rows as text. Raises :class:`StatementFailed`."""
        ...

    def close(self) -> None: ...


class PythonDriver:
    """A DB-API connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, text: str) -> list[list[str]]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(text)
            if cursor.description is None:
                return []
            return [[spell(value) for value in row] for row in cursor.fetchall()]
        except (hive.OperationalError, impala.dbapi.OperationalError) as error:
            raise StatementFailed(str(error)) from error
        finally:
            cursor.close()

    def close(self) -> None:
        self._connection.close()


class JdbcDriver:
    """Hive's JDBC driver, in a JVM that Python holds."""

    def __init__(self, gateway: JavaGateway, url: str) -> None:
        self.connection = jdbc_connect(gateway, url)

    def run(self, text: str) -> list[list[str]]:
        statement = self.connection.createStatement()
        try:
            return read_result(statement.getResultSet()) if statement.execute(text) else []
        except Py4JJavaError as error:
            raise StatementFailed(
                f"{error.java_exception.getMessage()} {error.java_exception.getSQLState()}"
            ) from error
        finally:
            statement.close()

    def close(self) -> None:
        self.connection.close()


class BeelineDriver:
    """Hive's shell, a process per statement."""

    def __init__(self, url: str, user: str = "ada", password: str = "x") -> None:
        self._command = [java(), "-Ddisable.quoting.for.sv=false", "-cp", JARS, "org.apache.hive.beeline.BeeLine"]
        self._command += ["-u", url, "-n", user, "-p", password, "--outputformat=csv2", "--silent=true", "-e"]

    def run(self, text: str) -> list[list[str]]:
        done = subprocess.run([*self._command, text], capture_output=True, encoding="utf-8", timeout=120)
        if done.returncode:
            raise StatementFailed(done.stderr)
        _, *rows = [*csv.reader(line for line in done.stdout.splitlines() if line.strip())] or [[]]
        return [[spell(cell) for cell in row] for row in rows]

    def close(self) -> None:
        pass


def open_driver(name: str, port: int, gateway: JavaGateway | None) -> Driver:
    url = f"jdbc:hive2://127.0.0.1:{port}/default"
    match name, gateway:
        case "pyhive", _:
            return PythonDriver(hive.connect("127.0.0.1", port, username="ada"))
        case "impyla", _:
            return PythonDriver(impala.dbapi.connect("127.0.0.1", port, user="ada", auth_mechanism="PLAIN"))
        case "impyla-nosasl", _:
            return PythonDriver(impala.dbapi.connect("127.0.0.1", port, auth_mechanism="NOSASL"))
        case "jdbc", JavaGateway():
            return JdbcDriver(gateway, url)
        case "jdbc-nosasl", JavaGateway():
            return JdbcDriver(gateway, f"{url};auth=noSasl")
        case "beeline", _:
            return BeelineDriver(url)
        case _:
            raise ValueError(name)


def start_jvm(classpath: str = JARS) -> JavaGateway:
    return JavaGateway.launch_gateway(classpath=classpath, java_path=java(), javaopts=["-Xmx256m"], die_on_exit=True)


def jdbc_connect(gateway: JavaGateway, url: str, user: str = "ada") -> Any:
    """Returns a java.sql.Connection from the driver itself, since DriverManager checks the caller's class loader."""
    properties = gateway.jvm.java.util.Properties()
    properties.setProperty("user", user)
    properties.setProperty("password", "x")
    return gateway.jvm.org.apache.hive.jdbc.HiveDriver().connect(url, properties)


def error_of_cancelled(connection: Any, runs: Sequence[object], pause_s: float = 1.0) -> str:
    """Returns the error of a java.sql.Statement that is canceled `pause_s` after it appears in the engine's `runs`.

    Hive's driver silently cancels nothing before it has the operation handle.
    """
    statement = connection.createStatement()
    known = len(runs)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(statement.executeQuery, "SLEEP 90")
        while len(runs) == known:
            time.sleep(0.01)
        time.sleep(pause_s)
        statement.cancel()
        error = running.exception(60)
    assert isinstance(error, Py4JJavaError)
    return str(error.java_exception.getMessage())


def count_rows(gateway: JavaGateway, result: Any) -> tuple[int, int]:
    """Returns a java.sql.ResultSet's number of rows and the sum over the first column; Janino reads them in Java."""
    of_name = gateway.jvm.java.lang.Class.forName
    names, kinds = gateway.jvm.java.lang.String, gateway.jvm.java.lang.Class
    counting = gateway.jvm.org.codehaus.janino.ScriptEvaluator()
    counting.setReturnType(of_name("java.lang.String"))
    counting.setParameters(_array(gateway, names, "result"), _array(gateway, kinds, of_name("java.sql.ResultSet")))
    counting.setThrownExceptions(_array(gateway, kinds, of_name("java.lang.Exception")))
    counting.cook('long n = 0, sum = 0; while (result.next()) { n++; sum += result.getLong(1); } return n + " " + sum;')
    count, total = map(int, counting.evaluate(_array(gateway, gateway.jvm.java.lang.Object, result)).split())
    return count, total


def _array(gateway: JavaGateway, kind: Any, item: Any) -> Any:
    made = gateway.new_array(kind, 1)
    made[0] = item
    return made


def read_result(result: Any) -> list[list[str]]:
    """Returns all rows in a java.sql.ResultSet as text."""
    columns = range(1, result.getMetaData().getColumnCount() + 1)
    rows = []
    while result.next():
        rows.append([spell(result.getString(column)) for column in columns])
    return rows


def spell(value: object) -> str:
    match value:
        case None | "":
            return "NULL"  # some shells print a null as nothing
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return value.decode()
        case dt.datetime():
            return value.isoformat(" ").rstrip("0").removesuffix(".")
        case str() if len(value) < TEXT_COLUMNS_MAX:
            return _spell_text(value)
    return str(value)


def _spell_text(text: str) -> str:
    """Converts numbers and timestamps from Java's spelling to Python's."""
    try:
        return (
            str(dt.datetime.fromisoformat(text).isoformat(" ").rstrip("0").removesuffix(".")) if ":" in text else text
        )
    except ValueError:
        return text


def java() -> str:
    found = shutil.which("java")
    assert found, "Java is needed for Hive's own clients"
    return found


def column(rows: Sequence[Sequence[str]], index: int = 0) -> list[str]:
    return [row[index] for row in rows]
