package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that are written by jobs and, for literals, without one. */
@Tag("spark")
class TableWriterTest {
  private static final SparkSession SPARK = TestSpark.SPARK;

  @TempDir Path folder;

  private TableWriter writer(Consumer<ObjectNode> change) {
    ObjectNode target = StatementRequest.JSON.createObjectNode();
    target.put("folder", folder.toString()).putNull("lease").putNull("compression");
    target.putArray("partition_columns");
    target.putNull("rules");
    change.accept(target);
    return new TableWriter(SPARK, settings -> SPARK.sessionState().conf(), target);
  }

  private static ObjectNode rules(ObjectNode target, String columns) {
    String schema = StructType.fromDDL(columns).json();
    ObjectNode rules = target.putObject("rules");
    rules.put("label", "t").put("columns", schema).put("stored", schema);
    rules.put("by_name", false).put("fields", "position").put("is_arranged", false);
    rules.put("joins_tasks", false).put("rebalanced", false).put("small_bytes", 0);
    rules.put("file_bytes", 1 << 20).put("literals", true);
    for (String name : List.of("steps", "partitions", "partition_columns", "order"))
      rules.putArray(name);
    return rules;
  }

  private static QueryExecution query(String text) {
    return Dataset$.MODULE$.ofRows(SPARK, TestSpark.parsed(text)).queryExecution();
  }

  private static JsonNode parsed(String answer) throws IOException {
    return StatementRequest.JSON.readTree(answer);
  }

  private List<String> rows(JsonNode files) {
    List<String> paths = new ArrayList<>();
    for (JsonNode file : files) paths.add(folder.resolve(file.get(0).textValue()).toString());
    List<String> rows = new ArrayList<>();
    for (Row row : SPARK.read().parquet(paths.toArray(new String[0])).collectAsList())
      rows.add(row.toString());
    return rows;
  }

  @Test
  void filesOfAJobAreReturned() throws Exception {
    String query = "SELECT id, IF(id = 1, NULL, array(id)) AS l FROM range(0, 3, 1, 1)";
    JsonNode files = parsed(writer(target -> {}).write(query(query)));
    assertEquals(1, files.size());
    JsonNode file = files.get(0);
    assertTrue(file.get(1).isNull());
    assertEquals(Files.size(folder.resolve(file.get(0).textValue())), file.get(2).longValue());
    assertEquals("[[[\"l\"],1]]", file.get(4).toString());
    assertEquals(3, rows(files).size());
  }

  @Test
  void partitionsAreFoldersWithTheirValues() throws Exception {
    TableWriter writer = writer(target -> target.withArray("partition_columns").add("p").add("q"));
    JsonNode files =
        parsed(
            writer.write(
                query(
                    "SELECT id, TIMESTAMP'2020-01-01 00:00:00' AS q, CAST(id AS STRING) AS p"
                        + " FROM range(0, 2, 1, 1)")));
    assertEquals(2, files.size());
    assertEquals("p=0/q=2020-01-01 00%3A00%3A00", files.get(0).get(1).textValue());
    assertEquals(List.of("[0]", "[1]"), rows(files));
    assertThrows(IllegalArgumentException.class, () -> writer.write(query("SELECT 1 AS p")));
  }

  @ParameterizedTest
  @CsvSource({"zstd, zstd", "snappy, snappy", "none, parquet"})
  void compressionIsThatOfTheTable(String compression, String suffix) throws Exception {
    TableWriter writer = writer(target -> target.put("compression", compression));
    String path = parsed(writer.write(query("SELECT 1 AS a"))).get(0).get(0).textValue();
    assertTrue(path.contains(suffix), path);
    assertEquals(!suffix.equals("parquet"), path.endsWith("." + suffix + ".parquet"), path);
  }

  @Test
  void failedJobLeavesNoFiles() throws Exception {
    String failing = "SELECT IF(id = 1999, raise_error('late'), id) AS a FROM range(0, 2000, 1, 1)";
    assertThrows(Exception.class, () -> writer(target -> {}).write(query(failing)));
    try (var files = Files.walk(folder)) {
      assertEquals(0, files.filter(Files::isRegularFile).count());
    }
  }

  @Test
  void literalsAreWrittenWithoutAJob() throws Exception {
    JsonNode files =
        parsed(writer(target -> {}).writeLiterals(query("VALUES (2), (1), (3)").optimizedPlan()));
    assertEquals(1, files.size());
    assertEquals(List.of("[2]", "[1]", "[3]"), rows(files));
  }

  @Test
  void literalsHaveTheFilesOfAJob() throws Exception {
    Consumer<ObjectNode> target = node -> node.withArray("partition_columns").add("p");
    String values =
        "SELECT * FROM VALUES (1, 'b', array(1)), (2, 'a', NULL), (3, 'b', NULL) AS v(a, p, l)";
    JsonNode literal = parsed(writer(target).writeLiterals(query(values).optimizedPlan()));
    JsonNode job = parsed(writer(target).write(query(values)));
    assertEquals(2, literal.size());
    assertEquals("p=a", literal.get(0).get(1).textValue());
    assertEquals(rows(job).stream().sorted().toList(), rows(literal).stream().sorted().toList());
    assertEquals("[[[\"l\"],1]]", literal.get(1).get(4).toString());
  }

  @Test
  void noLiteralsWriteNoFile() throws Exception {
    QueryExecution none = query("SELECT * FROM VALUES (1) AS v(a) WHERE a > 1");
    assertEquals("[]", writer(target -> {}).writeLiterals(none.optimizedPlan()));
  }

  @Test
  void planThatHasToRunHasNoLiterals() throws Exception {
    assertNull(LiteralRowsWriter.relation(query("SELECT id FROM range(2)").optimizedPlan()));
    TableWriter writer = writer(target -> rules(target, "a INT"));
    assertNull(writer.literals(query("SELECT id FROM range(2)"), null, null, "s"));
    assertNull(writer(target -> {}).literals(query("VALUES (1)"), null, null, "s"));
  }

  @Test
  void rowsOfATableWithoutRulesAreUnchanged() throws Exception {
    QueryExecution query = query("SELECT 1 AS a");
    assertEquals(query, writer(target -> {}).enforced(query, TestSpark.guard(), "s"));
    QueryExecution enforced =
        writer(target -> rules(target, "b INT")).enforced(query, TestSpark.guard(), "s");
    assertEquals("struct<b:int>", enforced.analyzed().schema().catalogString());
  }

  @ParameterizedTest
  @CsvSource({
    "none, false",
    "small, false",
    "large, true",
    "curve, false",
    "arranged, false",
  })
  void oneTaskMayWriteLargeFilesWithoutAnOrder(String kind, boolean expected) {
    TableWriter writer =
        writer(
            target -> {
              if (kind.equals("none")) return;
              ObjectNode rules = rules(target, "a INT");
              if (!kind.equals("small")) rules.put("file_bytes", 32 << 20);
              if (kind.equals("curve")) rules.putObject("curve");
              if (kind.equals("arranged")) rules.put("is_arranged", true);
            });
    assertEquals(expected, writer.mayBeOneTask());
  }

  @ParameterizedTest
  @CsvSource({"400000, 3, 5", "200000, 7, 9", "10000000, 1, 1"})
  void rebalancedRowsBecomeFilesOfTheirSize(int fileBytes, int min, int max) throws Exception {
    TableWriter writer =
        writer(
            target ->
                rules(target, "a STRING").put("rebalanced", true).put("file_bytes", fileBytes));
    // Random digits: 1.6 MB in Parquet.
    QueryExecution enforced =
        writer.enforced(
            query("SELECT sha2(CAST(id AS STRING), 256) FROM range(0, 25000, 1, 16)"),
            TestSpark.guard(),
            "s");
    JsonNode files = parsed(writer.write(enforced));
    assertTrue(files.size() >= min && files.size() <= max, files.toString());
    assertEquals(25_000, rows(files).size());
    try (var found = Files.walk(folder)) {
      assertEquals(
          files.size(),
          found.filter(file -> file.toString().endsWith(".parquet")).count(),
          "files of the sample are removed");
    }
  }

  @Test
  void rebalancedTableWithoutRowsIsWritten() throws Exception {
    TableWriter writer = writer(target -> rules(target, "a BIGINT").put("rebalanced", true));
    QueryExecution enforced =
        writer.enforced(query("SELECT id FROM range(10) WHERE id > 20"), TestSpark.guard(), "s");
    assertEquals(0, rows(parsed(writer.write(enforced))).size());
  }
}
