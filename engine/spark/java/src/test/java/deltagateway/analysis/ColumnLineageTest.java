package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sources of the columns of analyzed queries. */
@Tag("spark")
class ColumnLineageTest {
  @BeforeAll
  static void nameTables() {
    for (String table : TestSpark.words("lt lu"))
      TestSpark.name(
          table,
          TestRequests.relation("s", TestRequests.scan(table, "a BIGINT, b BIGINT, c STRING")));
  }

  /** Returns `table.column` and the first letter of the kind of each source, sorted. */
  private static String text(JsonNode sources) {
    return StreamSupport.stream(sources.spliterator(), false)
        .map(
            source ->
                source.get(0).textValue()
                    + "."
                    + source.get(1).textValue()
                    + " "
                    + source.get(2).textValue().charAt(0))
        .sorted()
        .collect(Collectors.joining(","));
  }

  /** Returns `name: sources` of each column, and the sources that decide on rows. */
  private static String lineage(String query) throws Exception {
    JsonNode lineage =
        StatementRequest.JSON.readTree(ColumnLineage.toJson(TestSpark.analyzed(query)));
    String columns =
        StreamSupport.stream(lineage.get("columns").spliterator(), false)
            .map(column -> column.get("name").textValue() + ": " + text(column.get("sources")))
            .collect(Collectors.joining("; "));
    return (columns + " / " + text(lineage.get("rows"))).trim();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "SELECT a FROM lt | a: lt.a I /",
        "SELECT a AS x, 1 AS one FROM lt | x: lt.a I; one:  /",
        "SELECT a + b AS x FROM lt | x: lt.a T,lt.b T /",
        "SELECT a AS x, a + 1 AS y FROM lt WHERE c = 'x' | x: lt.a I; y: lt.a T / lt.c T",
        "SELECT max(a) AS x FROM lt GROUP BY b | x: lt.a A / lt.b I",
        "SELECT b, sum(a + 1) AS x FROM lt GROUP BY b | b: lt.b I; x: lt.a A / lt.b I",
        "SELECT a FROM lt ORDER BY b | a: lt.a I / lt.b T",
        "SELECT t.a, u.b FROM lt t JOIN lu u ON t.c = u.c | a: lt.a I; b: lu.b I / lt.c T,lu.c T",
        "SELECT a FROM lt UNION ALL SELECT b + 1 FROM lu | a: lt.a I,lu.b T /",
        "SELECT a FROM lt EXCEPT SELECT b FROM lu | a: lt.a I / lt.a I,lu.b I",
        "SELECT a FROM lt INTERSECT SELECT b FROM lu | a: lt.a I / lt.a I,lu.b I",
        "WITH q AS (SELECT a + 1 AS x, b FROM lt) SELECT b, x FROM q | b: lt.b I; x: lt.a T /",
        "WITH q AS (SELECT a AS x FROM lt) SELECT p.x, r.x AS y FROM q p, q r"
            + " | x: lt.a I; y: lt.a I /",
        "WITH RECURSIVE q(n) AS (SELECT a FROM lt UNION ALL SELECT n + 1 FROM q WHERE n < 3)"
            + " SELECT n FROM q | n: lt.a T / lt.a T",
        "SELECT (SELECT max(b) FROM lu) AS x FROM lt | x: lu.b A /",
        "SELECT a FROM lt WHERE EXISTS (SELECT 1 FROM lu WHERE lu.b = lt.b)"
            + " | a: lt.a I / lt.b T,lu.b T",
        "SELECT a FROM lt WHERE a IN (SELECT b FROM lu) | a: lt.a I / lt.a T,lu.b T",
        "SELECT (SELECT max(u.b) FROM lu u WHERE u.a = lt.a) AS x FROM lt"
            + " | x: lt.a T,lu.b A / lt.a T,lu.a T",
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) AS x FROM lt | x: lt.a A,lt.b T,lt.c T /",
        "SELECT e.x FROM lt LATERAL VIEW explode(array(a, b)) e AS x | x: lt.a T,lt.b T /",
        "SELECT named_struct('p', a, 'q', b).q AS x FROM lt | x: lt.a T,lt.b T /",
        "SELECT s.q AS x FROM (SELECT named_struct('p', a, 'q', b) AS s FROM lt) | x: lt.b T /",
        "SELECT a, b FROM lt GROUP BY ROLLUP (a, b) | a: lt.a I; b: lt.b I / lt.a I,lt.b I",
        "SELECT id FROM range(3) | id:  /",
        "SELECT DISTINCT a FROM lt | a: lt.a I /",
        "SELECT * FROM (SELECT a, b FROM lt) UNPIVOT (v FOR n IN (a, b))"
            + " | n: ; v: lt.a I,lt.b I / lt.a T,lt.b T",
        "SELECT CASE WHEN b > 0 THEN a END AS x FROM lt | x: lt.a T,lt.b T /",
      })
  void columnsHaveTheirSources(String query, String expected) throws Exception {
    assertEquals(expected.trim(), lineage(query), query);
  }

  @Test
  void strongestKindOfAColumnCounts() throws Exception {
    assertEquals("x: lt.a A /", lineage("SELECT a + max(a) OVER () AS x FROM lt"));
    assertEquals("x: lt.a T /", lineage("SELECT a + (a * 2) AS x FROM lt"));
  }

  @Test
  void columnsOfFilePathsAreFoundAndNotReported() throws Exception {
    String query =
        "SELECT input_file_name() AS p, length(input_file_name()) AS n, a, c || 'x' FROM lt";
    assertArrayEquals(
        new boolean[] {true, true, false, false},
        ColumnLineage.dependsOnFilePaths(TestSpark.analyzed(query)));
    assertEquals("n:  /", lineage("SELECT input_file_name() AS n FROM lt"));
  }
}
