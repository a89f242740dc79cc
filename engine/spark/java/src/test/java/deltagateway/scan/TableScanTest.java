package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.CallbackServer;
import deltagateway.TestScans;
import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Plans and rows of scans, for each format and with deletion vectors and row ids. */
@Tag("spark")
class TableScanTest {
  private static final SparkSession SPARK = TestSpark.SPARK;

  /** The rows 3, 4, 7, 11, 18 and 29. */
  private static final String VECTOR =
      "i 0 40 6 wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";

  @TempDir Path folder;
  private CallbackServer server;

  @AfterEach
  void stop() throws IOException {
    if (server != null) server.close();
  }

  /** Writes 12 rows with `id` as their index in one file and returns its name. */
  private String write(String format, String... columns) throws IOException {
    Dataset<Row> rows = SPARK.range(0, 12, 1, 1).selectExpr(columns);
    String target = folder.resolve("files-" + format).toString();
    if (format.equals("csv")) rows.write().option("header", "true").csv(target);
    else rows.write().format(format).save(target);
    try (var files = Files.list(Path.of(target))) {
      Path file =
          files.filter(path -> path.getFileName().toString().startsWith("part-")).findFirst().get();
      return "files-" + format + "/" + file.getFileName();
    }
  }

  private TableScan table(
      String columns,
      List<String> constants,
      Object[] values,
      String file,
      Consumer<ObjectNode> change)
      throws IOException {
    if (server != null) server.close();
    List<Object> entry = new ArrayList<>(List.of(file, Files.size(folder.resolve(file)), 0));
    entry.addAll(Arrays.asList(values));
    byte[] answer =
        CallbackServer.stream(TestScans.files(constants, new Object[][] {entry.toArray()}));
    server = new CallbackServer(request -> answer);
    StatementRequest.Scan scan = TestScans.scan(folder, columns, change);
    FileListing listing =
        new FileListing(server.callbacks(), "statement-1", 0, scan.constants, "UTC");
    PrunedFileIndex files = new PrunedFileIndex("statement-1", scan, listing);
    if (!scan.shown.isEmpty()) listing.show(new ComputedColumns(SPARK, files));
    return new TableScan(SPARK, files);
  }

  private static List<String> rows(LogicalPlan plan) {
    List<String> rows = new ArrayList<>();
    for (Row row : Dataset$.MODULE$.ofRows(SPARK, plan).collectAsList()) rows.add(row.toString());
    return rows;
  }

  private static LogicalPlan select(TableScan table, String columns, String condition) {
    TestSpark.name("scanned", table.relation());
    return TableScan.rows(
        SPARK, TestSpark.analyzed("SELECT " + columns + " FROM scanned WHERE " + condition));
  }

  @ParameterizedTest
  @ValueSource(strings = {"parquet", "orc", "csv", "json"})
  void filesOfEachFormatAreRead(String format) throws IOException {
    String file = write(format, "id", "concat('v', id) AS name");
    TableScan table =
        table(
            "id BIGINT, name STRING", List.of(), new Object[0], file, node -> format(node, format));
    assertEquals(List.of("[11,v11]"), rows(select(table, "*", "id > 10")), format);
    assertEquals(List.of("[12]"), rows(select(table, "count(*)", "true")), format);
  }

  @Test
  void linesOfTextAreRead() throws IOException {
    String file = write("text", "concat('line ', id) AS value");
    TableScan table =
        table("value STRING", List.of(), new Object[0], file, node -> format(node, "text"));
    assertEquals(List.of("[line 7]"), rows(select(table, "*", "value LIKE '%7'")));
  }

  private static void format(ObjectNode node, String kind) {
    if (kind.equals("parquet")) return;
    ObjectNode format = node.putObject("format").put("kind", kind).put("infers", false);
    ObjectNode options = format.putObject("options");
    if (kind.equals("csv")) options.put("header", "true");
  }

  @ParameterizedTest
  @CsvSource({"csv, 'id:string'", "json, 'id:bigint'", "orc, 'id:bigint'", "parquet, 'id:bigint'"})
  void columnsAreInferred(String format, String expected) throws IOException {
    String file = write(format, "id");
    TableScan table =
        table(
            "other STRING",
            List.of(),
            new Object[0],
            file,
            node -> {
              format(node, format);
              if (format.equals("parquet"))
                node.putObject("format").put("kind", "parquet").putObject("options");
              ((ObjectNode) node.get("format")).put("infers", true);
            });
    assertEquals("struct<" + expected + ">", table.relation().schema().catalogString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"parquet", "orc", "csv", "json", "text"})
  void linkOutOfTheTableIsNotRead(String format, @TempDir Path other) throws IOException {
    String file = write(format, "cast(id AS STRING) AS value");
    Path moved = Files.move(folder.resolve(file), other.resolve("data"));
    Files.createSymbolicLink(folder.resolve(file), moved);
    Consumer<ObjectNode> change = node -> format(node, format);
    TableScan table = table("value STRING", List.of(), new Object[0], file, change);
    Exception failure = assertThrows(Exception.class, () -> rows(select(table, "*", "true")));
    assertTrue(causes(failure).contains("log path"), causes(failure));
    TableScan allowed =
        table(
            "value STRING",
            List.of(),
            new Object[0],
            file,
            node -> {
              change.accept(node);
              node.withArray("allowed_roots").add(other.toString());
            });
    assertEquals(1, rows(select(allowed, "*", "value = '5'")).size());
  }

  private static String causes(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) text.append(cause);
    return text.toString();
  }

  @Test
  void tableWithoutDeletedRowsIsReadAsItIs() throws IOException {
    TableScan table =
        table("id BIGINT", List.of(), new Object[0], write("parquet", "id"), node -> {});
    LogicalPlan relation = table.relation();
    assertSame(relation, TableScan.rows(SPARK, relation));
  }

  @Test
  void deletedRowsAreFiltered() throws IOException {
    TableScan table =
        table(
            "id BIGINT",
            List.of("dv"),
            new Object[] {VECTOR},
            write("parquet", "id"),
            node -> node.withObject("vectors").put("deletion_vector", "dv"));
    assertEquals(1, table.relation().output().size());
    LogicalPlan rows = TableScan.rows(SPARK, table.relation());
    assertTrue(rows instanceof Project);
    Filter filter = (Filter) rows.children().head();
    assertTrue(TableScan.isLive(filter.condition()));
    assertEquals(
        List.of("[0]", "[1]", "[2]", "[5]", "[6]", "[8]", "[9]", "[10]"),
        rows(select(table, "id", "true")));
    assertEquals(List.of("[5]"), rows(select(table, "id", "id BETWEEN 3 AND 5")));
  }

  @Test
  void selectedRowsAloneAreRead() throws IOException {
    TableScan table =
        table(
            "id BIGINT",
            List.of("sel"),
            new Object[] {VECTOR},
            write("parquet", "id"),
            node -> node.withObject("vectors").put("selected_rows", "sel"));
    assertEquals(List.of("[3]", "[4]", "[7]", "[11]"), rows(select(table, "id", "true")));
  }

  @Test
  void corruptVectorFailsTheQuery() throws IOException {
    TableScan table =
        table(
            "id BIGINT",
            List.of("dv"),
            new Object[] {VECTOR.replace("40 6", "40 5")},
            write("parquet", "id"),
            node -> node.withObject("vectors").put("deletion_vector", "dv"));
    Exception failure = assertThrows(Exception.class, () -> rows(select(table, "id", "true")));
    assertTrue(causes(failure).contains("deletion vector cardinality"), causes(failure));
  }

  @Test
  void partitionValuesAreConstants() throws IOException {
    TableScan table =
        table(
            "id BIGINT, p INT",
            List.of("p"),
            new Object[] {"7"},
            write("parquet", "id", "1 AS p"),
            node -> node.withArray("partition_columns").add("p"));
    assertEquals(List.of("[11,7]"), rows(select(table, "id, p", "id = 11 AND p = 7")));
    assertEquals(List.of(), rows(select(table, "id, p", "p = 1")));
  }

  @Test
  void columnsAreReadByTheirPhysicalNames() throws IOException {
    TableScan table =
        table(
            "id BIGINT, missing INT",
            List.of(),
            new Object[0],
            write("parquet", "id AS c1"),
            node ->
                node.put(
                    "physical",
                    org.apache.spark.sql.types.StructType.fromDDL("c1 BIGINT, c2 INT").json()));
    assertEquals(List.of("[11,null]"), rows(select(table, "*", "id > 10")));
  }

  @Test
  void computedColumnHasTheIdsOfTheQuery() throws IOException {
    String file = write("parquet", "cast(id AS STRING) AS v");
    TableScan table =
        table(
            "v INT",
            List.of(),
            new Object[0],
            file,
            node -> {
              String read = org.apache.spark.sql.types.StructType.fromDDL("v STRING").json();
              node.put("read", read).put("physical", read);
              node.withObject("shown").put("v", "CAST(v AS INT)");
            });
    LogicalPlan relation = table.relation();
    LogicalPlan rows = TableScan.rows(SPARK, relation);
    assertEquals(relation.output().head().exprId(), rows.output().head().exprId());
    assertEquals(List.of("[11]"), rows(select(table, "v", "v > 10")));
    assertEquals(List.of("[66]"), rows(select(table, "sum(v)", "true")));
  }

  @Test
  void rowIdsAreMaterializedOrComputed() throws IOException {
    String file =
        write(
            "parquet",
            "id AS v",
            "CASE WHEN id = 1 THEN 500 END AS rid",
            "CASE WHEN id = 2 THEN 9 END AS ver");
    TableScan table =
        table(
            "v BIGINT",
            List.of("base", "version"),
            new Object[] {"100", "4"},
            file,
            node -> {
              ObjectNode tracking = node.putObject("row_tracking");
              tracking.put("base_row_id", "base").put("default_row_commit_version", "version");
              tracking.put("row_id_column", "rid").put("row_commit_version_column", "ver");
              tracking.putNull("field_ids");
            });
    // A view would hide the metadata.
    LogicalPlan plan =
        Dataset$.MODULE$
            .ofRows(SPARK, table.relation())
            .where("v < 3")
            .selectExpr(
                "_metadata.row_id",
                "_metadata.base_row_id",
                "_metadata.default_row_commit_version",
                "_metadata.row_commit_version")
            .queryExecution()
            .analyzed();
    assertEquals(
        List.of("[100,100,4,4]", "[500,100,4,4]", "[102,100,4,9]"),
        rows(TableScan.rows(SPARK, plan)));
  }

  @Test
  void conditionOnOtherColumnsIsNotThatOfDeletedRows() {
    assertFalse(TableScan.isLive(TestSpark.condition("id > 1", "range(3)")));
    assertFalse(TableScan.isLive(TestSpark.condition("rand() < 2", "range(3)")));
  }

  @Test
  void explainedScanListsItsFiles() throws IOException {
    TableScan table =
        table("id BIGINT", List.of(), new Object[0], write("parquet", "id"), node -> {});
    LogicalPlan plan = select(table, "id", "id > 1");
    PhysicalScans.chooseFiles(Dataset$.MODULE$.ofRows(SPARK, plan).queryExecution().executedPlan());
    assertEquals(1, server.requests.size());
  }

  @Test
  void missingColumnOfTheScanIsAnError() {
    assertThrows(
        IllegalArgumentException.class, () -> TableScan.named(new ArrayList<>(), "missing"));
    assertNull(PythonRowsRelation.of(ScalaConversions.none()));
  }
}
