"""Hive's JDBC driver in a JVM, with the loops that are measured in Java: py4j would cost more than they do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from tests.clients.drivers import jdbc_connect, start_jvm

_JAVA = """
package bench;

public class Jdbc implements java.util.function.BiFunction {
  /** A connection and a query give the number of rows; a URL and "connections runs query" the times as JSON; lines
   *  before the query are statements that each connection runs first. A connection and "first rows INSERT" run a
   *  prepared INSERT for each row. Nothing gives the process, as "id@host". */
  public Object apply(Object target, Object asked) {
    try {
      if (target == null) return java.lang.management.ManagementFactory.getRuntimeMXBean().getName();
      String text = (String) asked;
      String[] parts = text.split(" ", 3);
      if (target instanceof java.sql.Connection) {
        java.sql.Connection connection = (java.sql.Connection) target;
        if (!Character.isDigit(text.charAt(0))) return Long.valueOf(read(connection, text));
        insert(connection, Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), parts[2]);
        return null;
      }
      return load((String) target, Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), parts[2]);
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  static long read(java.sql.Connection connection, String text) throws Exception {
    java.sql.Statement statement = connection.createStatement();
    statement.setFetchSize(10000);
    java.sql.ResultSet rows = statement.executeQuery(text);
    int columns = rows.getMetaData().getColumnCount();
    long count = 0;
    while (rows.next()) {
      for (int i = 1; i <= columns; i++) rows.getObject(i);
      count++;
    }
    rows.close();
    statement.close();
    return count;
  }

  static void insert(java.sql.Connection connection, int first, int rows, String text) throws Exception {
    java.sql.PreparedStatement statement = connection.prepareStatement(text);
    for (int id = first; id < first + rows; id++) {
      statement.setLong(1, id);
      statement.setString(2, "name " + id);
      statement.setDouble(3, id + 0.5);
      statement.setString(4, "2024-01-01");
      statement.setBoolean(5, true);
      statement.executeUpdate();
    }
    statement.close();
  }

  static String load(String url, int connections, int runs, String text) throws Exception {
    java.util.Properties user = new java.util.Properties();
    user.setProperty("user", "bench");
    user.setProperty("password", "x");
    String[] lines = text.split("\\n");
    text = lines[lines.length - 1];
    Client[] clients = new Client[connections];
    for (int i = 0; i < connections; i++) {
      clients[i] = new Client(new org.apache.hive.jdbc.HiveDriver().connect(url, user), runs, text);
      for (int line = 0; line < lines.length - 1; line++) {
        java.sql.Statement statement = clients[i].connection.createStatement();
        statement.execute(lines[line]);
        statement.close();
      }
    }
    for (int i = 0; i < connections; i++) clients[i].start();
    StringBuilder times = new StringBuilder("[");
    for (int i = 0; i < connections; i++) {
      clients[i].join();
      if (clients[i].failure != null) throw clients[i].failure;
      for (int run = 0; run < runs; run++) times.append(times.length() > 1 ? "," : "").append(clients[i].times[run]);
      clients[i].connection.close();
    }
    return times.append("]").toString();
  }

  static class Client extends Thread {
    final java.sql.Connection connection;
    final String text;
    final double[] times;
    Exception failure;

    Client(java.sql.Connection connection, int runs, String text) {
      this.connection = connection;
      this.text = text;
      this.times = new double[runs];
    }

    public void run() {
      try {
        for (int i = 0; i < times.length; i++) {
          long start = System.nanoTime();
          if (read(connection, text) != 1) throw new IllegalStateException("not one row");
          times[i] = (System.nanoTime() - start) / 1e6;
        }
      } catch (Exception error) {
        failure = error;
      }
    }
  }
}
"""


class Jdbc:
    """JDBC connections, which are created once and reused."""

    def __init__(self, gateway: Any, run: Any) -> None:
        self._gateway, self._run = gateway, run
        self._process_id = int(run.apply(None, None).partition("@")[0])

    def connect(self, port: int) -> Any:
        return jdbc_connect(self._gateway, _url(port), "bench")

    def read(self, connection: Any, text: str) -> int:
        """Returns the number of rows, after reading every cell."""
        return int(self._run.apply(connection, text))

    def insert(self, connection: Any, first: int, rows: int, text: str) -> None:
        """Runs a prepared INSERT of `bench_bulk`'s five columns for each row: the driver has no batches."""
        self._run.apply(connection, f"{first} {rows} {text}")

    def busy_s(self) -> float:
        """Processor time that the JVM has used, in which the driver's is."""
        fields = Path(f"/proc/{self._process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, port: int, connections: int, runs: int, text: str, first: Sequence[str] = ()) -> list[float]:
        """Returns milliseconds per run for a query with one row, over `connections` concurrent connections. All run
        `first` before.
        """
        try:
            lines = "\n".join((*first, text))
            times: list[float] = json.loads(self._run.apply(_url(port), f"{connections} {runs} {lines}"))
        except Py4JJavaError as error:
            raise RuntimeError(error.java_exception.getCause().toString()) from None
        return times


@contextmanager
def jdbc() -> Iterator[Jdbc]:
    gateway = start_jvm()
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(_JAVA)
        yield Jdbc(gateway, compiler.getClassLoader().loadClass("bench.Jdbc").newInstance())
    finally:
        gateway.shutdown()


def _url(port: int) -> str:
    return f"jdbc:hive2://127.0.0.1:{port}/default"
