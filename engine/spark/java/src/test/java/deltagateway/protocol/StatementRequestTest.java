package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of statements. */
class StatementRequestTest {
  private static ObjectNode request() {
    ObjectNode request = TestRequests.statement("s-1", "SELECT * FROM t JOIN V");
    ((ArrayNode) request.get("scans")).add(TestRequests.scan("T", "id BIGINT"));
    ((ArrayNode) request.get("views")).add(TestRequests.view("V", "SELECT 1"));
    ObjectNode rows = ((ArrayNode) request.get("given")).addObject();
    rows.put("relation", "R").put("columns", "a INT").put("is_stamped", true).putNull("spooled");
    for (String name : List.of("keys", "costly", "paths")) rows.putArray(name);
    return request;
  }

  private static StatementRequest parsed(ObjectNode request) throws JsonProcessingException {
    return new StatementRequest(request.toString());
  }

  private static StatementRequest.Scan scan(ObjectNode scan) {
    return new StatementRequest.Scan(scan);
  }

  @Test
  void requestHasItsFields() throws Exception {
    StatementRequest request =
        parsed(
            request()
                .put("rows_wanted", 7)
                .put("bytes_wanted", 8)
                .put("pool", "p")
                .put("announces_rows", true)
                .put("reports_lineage", true));
    assertEquals("s-1", request.id);
    assertEquals("ann", request.principal);
    assertEquals(1_500_000L, request.instantMicros);
    assertEquals("SELECT * FROM t JOIN V", request.text);
    assertEquals("__body_1", request.bodyCall);
    assertEquals("/no/such/folder", request.spoolPath);
    assertEquals(1 << 20, request.resultBytesMax);
    assertEquals(List.of(7L, 8L), List.of(request.rowsWanted, request.bytesWanted));
    assertEquals("p", request.pool);
    assertTrue(request.announcesRows && request.reportsLineage);
    assertEquals("R", request.givenName(0));
  }

  @Test
  void limitsAreLargestNumbersIfTheyAreNull() throws Exception {
    StatementRequest request = parsed(request());
    assertEquals(Long.MAX_VALUE, request.rowsWanted);
    assertEquals(Long.MAX_VALUE, request.bytesWanted);
    assertNull(request.pool);
  }

  @Test
  void relationsAreThoseOfScansViewsAndPythonInLowerCase() throws Exception {
    assertEquals(Set.of("t", "v", "r"), parsed(request()).relations());
    assertEquals(Set.of(), parsed(TestRequests.statement("s", "SELECT 1")).relations());
  }

  @ParameterizedTest
  @CsvSource({
    "/text, STATEMENT has no field text",
    "/variables, STATEMENT has no field variables",
    "/scans/0/root, SCAN has no field root",
    "/views/0/is_hidden, VIEW has no field is_hidden",
    "/given/0/paths, PYTHON_ROWS has no field paths",
  })
  void missingFieldIsReported(String pointer, String message) {
    ObjectNode request = request();
    int slash = pointer.lastIndexOf('/');
    ((ObjectNode) request.at(pointer.substring(0, slash))).remove(pointer.substring(slash + 1));
    Exception failure = assertThrows(IllegalArgumentException.class, () -> parsed(request));
    assertEquals(message, failure.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "'', STATEMENT",
    "/scans/0, SCAN",
    "/views/0, VIEW",
    "/given/0, PYTHON_ROWS",
  })
  void unknownFieldIsReported(String pointer, String name) {
    ObjectNode request = request();
    ((ObjectNode) request.at(pointer)).put("new_field", 1);
    Exception failure = assertThrows(IllegalArgumentException.class, () -> parsed(request));
    assertEquals(name + " has an unknown field new_field", failure.getMessage());
  }

  @Test
  void textThatIsNoJsonIsRejected() {
    assertThrows(JsonProcessingException.class, () -> new StatementRequest("{\"id\":"));
  }

  @ParameterizedTest
  @CsvSource({
    "id, true",
    "instant_us, true",
    "spool, true",
    "result_bytes_max, true",
    "rows_wanted, true",
    "bytes_wanted, true",
    "pool, true",
    "announces_rows, true",
    "reports_lineage, true",
    "text, false",
    "principal, false",
    "body_call, false",
  })
  void meaningHasNoFieldOfOneRun(String field, boolean isOfRun) throws Exception {
    String meaning = parsed(request()).meaning;
    String changed = parsed(request().put(field, "other")).meaning;
    assertEquals(isOfRun, meaning.equals(changed));
  }

  @Test
  void shapeHasNoSizesAndMeaningHas() throws Exception {
    ObjectNode other = request();
    ((ObjectNode) other.at("/scans/0")).put("bytes", 99);
    assertEquals(parsed(request()).shape(), parsed(other).shape());
    assertNotEquals(parsed(request()).meaning, parsed(other).meaning);
    ((ObjectNode) other.at("/scans/0")).put("root", "/u");
    assertNotEquals(parsed(request()).shape(), parsed(other).shape());
  }

  @Test
  void hiddenRelationsMayRepeat() throws Exception {
    ObjectNode node = request();
    ((ArrayNode) node.get("hidden_relations")).add("a").add("a").add("b");
    StatementRequest request = parsed(node);
    assertTrue(request.isHiddenRelation("a") && request.isHiddenRelation("b"));
    assertFalse(request.isHiddenRelation("c"));
  }

  @ParameterizedTest
  @CsvSource({"is_barrier, true, false", "is_hidden, false, true", "temporary, false, false"})
  void barriersAndHiddenViewsAreFound(String field, boolean hasBarrier, boolean hasHidden)
      throws Exception {
    ObjectNode node = request();
    ((ObjectNode) node.at("/views/0")).put(field, true);
    StatementRequest request = parsed(node);
    assertEquals(hasBarrier, request.hasBarrier());
    assertEquals(hasHidden, request.hasHidden());
    assertFalse(parsed(request()).hasBarrier() || parsed(request()).hasHidden());
  }

  @Test
  void viewHasItsColumnsAndSettings() throws Exception {
    ObjectNode node = request();
    ObjectNode view = (ObjectNode) node.at("/views/0");
    view.putArray("columns").addArray().add("a").add("b").add("int");
    view.put("schema_mode", "BINDING");
    view.putArray("settings").addArray().add("spark.sql.ansi.enabled").add("false");
    ((ArrayNode) view.get("unlisted_columns")).add("c");
    view.put("temporary", true).put("hides_places", true);
    StatementRequest.View parsed = parsed(node).views[0];
    assertEquals(List.of(new StatementRequest.View.Column("a", "b", "int")), parsed.columns);
    assertEquals("BINDING", parsed.schemaMode);
    assertEquals(Map.of("spark.sql.ansi.enabled", "false"), parsed.settings);
    assertEquals(Set.of("c"), parsed.unlistedColumns);
    assertEquals("main.V", parsed.label);
    assertTrue(parsed.isTemporary && parsed.hidesFilePaths);
    assertNull(parsed(request()).views[0].settings);
  }

  @Test
  void constantsOfAScanHaveAnOrder() {
    ObjectNode node = TestRequests.scan("t", "id BIGINT, day DATE, region STRING");
    ((ArrayNode) node.get("partition_columns")).add("region").add("day");
    ((ObjectNode) node.get("vectors"))
        .put("told_rows", "__told")
        .put("deletion_vector", "__dv")
        .put("selected_rows", "__selected");
    ObjectNode tracking = node.putObject("row_tracking");
    tracking.put("base_row_id", "__base").put("default_row_commit_version", "__version");
    tracking.put("row_id_column", "_id").put("row_commit_version_column", "_version");
    tracking.putNull("field_ids");
    StatementRequest.Scan scan = scan(node);
    assertArrayEquals(
        new String[] {"region", "day", "__dv", "__selected", "__told", "__base", "__version"},
        scan.constants.fieldNames());
    assertEquals("_id", scan.rowTracking.rowIdColumn);
    assertNull(scan.rowTracking.fieldIds);
    assertTrue(scan.dropsRows());
    tracking.putArray("field_ids").add(3).add(4);
    assertArrayEquals(new long[] {3, 4}, scan(node).rowTracking.fieldIds);
  }

  @Test
  void scanWithoutVectorsDropsNoRows() {
    StatementRequest.Scan scan = scan(TestRequests.scan("t", "id BIGINT NOT NULL"));
    assertFalse(scan.dropsRows());
    assertEquals(0, scan.constants.length());
    assertTrue(scan.schema.apply("id").nullable());
    assertSame(scan.schema, scan.read);
    assertNull(scan.rowTracking);
    assertNull(scan.format);
    assertNull(scan.volumePlaces());
  }

  @Test
  void columnsThatAreReadForOthersAreMarked() {
    ObjectNode node = TestRequests.scan("t", "id BIGINT, day DATE");
    node.put("read", StructType.fromDDL("id BIGINT, day STRING").json());
    ((ObjectNode) node.get("shown")).put("day", "CAST(day AS DATE)");
    StatementRequest.Scan scan = scan(node);
    assertEquals(Map.of("day", "CAST(day AS DATE)"), scan.shown);
    assertTrue(scan.read.apply("day").metadata().getBoolean(StatementRequest.Scan.READ));
    assertFalse(scan.read.apply("id").metadata().contains(StatementRequest.Scan.READ));
    assertEquals("date", scan.schema.apply("day").dataType().typeName());
  }

  @Test
  void formatOfFilesHasOptions() {
    ObjectNode node = TestRequests.scan("t", "id BIGINT");
    ObjectNode format = node.putObject("format").put("kind", "csv").put("infers", true);
    format.putObject("options").put("header", "true");
    StatementRequest.Scan scan = scan(node.put("shown_root", "/Volumes/a/b/c"));
    assertEquals("csv", scan.format.kind);
    assertEquals("true", scan.format.options.apply("header"));
    assertTrue(scan.format.infers);
    assertTrue(scan.volumePlaces() != null);
    assertEquals("/t", scan.tableRoot().path().toUri().getPath());
  }

  @Test
  void laterPairReplacesAnEarlierOne() throws Exception {
    assertEquals(
        Map.of("a", "2", "b", "3"),
        StatementRequest.pairs(
            StatementRequest.JSON.readTree("[[\"a\",\"1\"],[\"a\",\"2\"],[\"b\",\"3\"]]")));
  }
}
