package deltagateway.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.cache.PlanCache;
import deltagateway.memory.MemoryGuard;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.spark.sql.classic.SparkSession$;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Statements of a session, without a server. */
@Tag("spark")
@Timeout(120)
class GatewaySessionTest {
  @TempDir Path folder;
  private final TaskCounts tasks = new TaskCounts();
  private GatewaySession session;

  @BeforeEach
  void open() {
    session =
        new GatewaySession(
            TestSpark.SPARK.newSession(),
            TestSpark.SPARK.sessionState().conf(),
            TestSpark.guard(),
            null,
            new MemoryGuard(TestSpark.SPARK.sparkContext(), null),
            tasks,
            new PlanCache());
  }

  /** A statement leaves its thread without a session, which other tests rely on. */
  @AfterEach
  void restoreSession() {
    SparkSession$.MODULE$.setActiveSession(TestSpark.SPARK);
  }

  private ObjectNode request(String id, String text) throws Exception {
    Path spool = Files.createDirectories(folder.resolve(id));
    return TestRequests.statement(id, text).put("spool", spool.toString());
  }

  private static JsonNode header(byte[] frame) throws Exception {
    byte[] json = new byte[ByteBuffer.wrap(frame).getInt()];
    ByteBuffer.wrap(frame, Integer.BYTES, json.length).get(json);
    return StatementRequest.JSON.readTree(json);
  }

  private JsonNode run(String id, String text) throws Exception {
    return header(session.run(request(id, text).toString()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT 1 AS a | 1 | a int",
        "SELECT id FROM range(1000) WHERE id % 2 = 0 | 500 | id bigint",
        "SELECT id % 3 AS k, count(*) AS n FROM range(10) GROUP BY 1 | 3 | k bigint, n bigint",
        "SELECT id FROM range(10) LIMIT 3 | 3 | id bigint",
        "SELECT id FROM range(10) WHERE id < 0 | 0 | id bigint",
        "SELECT string(current_timestamp()) = '1970-01-01 00:00:01.5' AS t | 1 | t boolean",
      })
  void queryReturnsItsRows(String text, long rows, String columns) throws Exception {
    JsonNode header = run("q", text);
    assertEquals(rows, header.get("rows").longValue());
    StringBuilder found = new StringBuilder();
    for (JsonNode column : header.get("columns"))
      found
          .append(found.isEmpty() ? "" : ", ")
          .append(column.get("name").textValue())
          .append(' ')
          .append(column.get("ddl").textValue());
    assertEquals(columns, found.toString());
    JsonNode described = header(session.describe(request("d", text).toString()));
    assertEquals(header.get("columns"), described.get("columns"));
  }

  @Test
  void resultBeyondItsLimitIsRejected() throws Exception {
    String text = "SELECT repeat('x', 100) AS x FROM range(1000)";
    assertEquals(1000, run("a", text).get("rows").longValue());
    ObjectNode request = request("b", text).put("result_bytes_max", 1000);
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> session.run(request.toString()));
    assertEquals("result too large 1000", rejection.kind() + " " + rejection.subject());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM other",
        "SELECT reflect('java.lang.System', 'exit', 0)",
        "DROP TABLE t",
        "SELECT repeat('x', 1000000000)",
      })
  void queryThatTheGuardRejectsDoesNotRun(String text) {
    assertThrows(RejectionException.class, () -> run("q", text));
    assertThrows(RejectionException.class, () -> session.describe(request("d", text).toString()));
    assertThrows(
        RejectionException.class, () -> session.explain(request("e", text).toString(), "simple"));
  }

  @Test
  void canceledStatementDoesNotBegin() throws Exception {
    session.cancel("a");
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> run("a", "SELECT 1"));
    assertEquals("cancelled a", rejection.kind() + " " + rejection.subject());
    assertEquals(1, run("b", "SELECT 1").get("rows").longValue());
    assertEquals(1, run("a", "SELECT 1").get("rows").longValue());
  }

  private static final String ENDLESS =
      "SELECT count(DISTINCT sha2(string(id), 256)) FROM range(0, 1000000000000, 1, 2)";

  /** Ends a statement once it runs tasks; returns its failure. */
  private Throwable end(java.util.function.Consumer<String> end) throws Exception {
    TestSpark.SPARK.sparkContext().addSparkListener(tasks);
    try {
      CompletableFuture<JsonNode> running =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return run("endless", ENDLESS);
                } catch (Exception failure) {
                  throw new IllegalStateException(failure);
                }
              });
      while (tasks.tasksOf("endless").at("/endless/running").asInt() == 0 && !running.isDone())
        Thread.sleep(10);
      end.accept("endless");
      return assertThrows(ExecutionException.class, running::get).getCause().getCause();
    } finally {
      TestSpark.SPARK.sparkContext().removeSparkListener(tasks);
    }
  }

  @Test
  void runningStatementIsCanceled() throws Exception {
    RejectionException rejection = (RejectionException) end(session::cancel);
    assertEquals("cancelled endless", rejection.kind() + " " + rejection.subject());
    assertEquals(0, tasks.tasksOf("endless").size());
    assertEquals(1, run("next", "SELECT 1").get("rows").longValue());
  }

  @Test
  void statementWhoseMemoryOthersNeedIsEnded() throws Exception {
    RejectionException rejection = (RejectionException) end(session::endForMemory);
    assertEquals("memory endless", rejection.kind() + " " + rejection.subject());
    session.endForMemory("next"); // does not run
    assertEquals(1, run("next", "SELECT 1").get("rows").longValue());
  }

  @Test
  void threadHasNoStateOfAStatementAfterItsEnd() throws Exception {
    run("a", "SELECT 1");
    session.cancel("a");
    GatewaySession.ensureCurrentLive();
    assertNull(TestSpark.SPARK.sparkContext().getLocalProperty("spark.jobGroup.id"));
    assertTrue(SparkSession$.MODULE$.getActiveSession().isEmpty());
  }

  @Test
  void principalIsTheCurrentUser() throws Exception {
    String text = "SELECT assert_true(current_user() = 'ann') AS x";
    assertEquals("session", run("a", text).get("repeatable").textValue());
    ObjectNode request = request("b", text).put("principal", "bob");
    assertThrows(Exception.class, () -> session.run(request.toString()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT id FROM range(3) | always",
        "SELECT rand() | never",
        "SELECT current_schema() | session",
      })
  void resultHasItsVolatility(String text, String expected) throws Exception {
    assertEquals(expected, run("a", text).get("repeatable").textValue());
    assertEquals(expected, run("b", text).get("repeatable").textValue());
  }

  @Test
  void settingsAreThoseOfTheSession() throws Exception {
    assertEquals("UTC", session.get("spark.sql.session.timeZone"));
    session.set("spark.sql.session.timeZone", "Asia/Tokyo");
    assertEquals("Asia/Tokyo", run("a", "SELECT 1").get("time_zone").textValue());
    assertEquals(
        1, run("b", "SELECT 1 WHERE current_timezone() = 'Asia/Tokyo'").get("rows").intValue());
    session.unset("spark.sql.session.timeZone");
    String defaultZone = session.get("spark.sql.session.timeZone");
    assertNotEquals("Asia/Tokyo", defaultZone);
    assertEquals(defaultZone, run("c", "SELECT 1").get("time_zone").textValue());
    assertNull(session.get("spark.no.such.setting"));
  }

  @Test
  void currentSchemaIsThatOfTheSession() throws Exception {
    session.setCurrentSchema("lake", "sales");
    String text = "SELECT 1 WHERE current_catalog() = 'lake' AND current_schema() = 'sales'";
    assertEquals(1, run("a", text).get("rows").intValue());
  }

  @Test
  void lineageIsReportedOnce() throws Exception {
    ObjectNode request = request("a", "SELECT 1 AS x").put("reports_lineage", true);
    session.run(request.toString());
    assertEquals(
        "{\"columns\":[{\"name\":\"x\",\"sources\":[]}],\"rows\":[]}", session.lineage("a"));
    assertNull(session.lineage("a"));
    run("b", "SELECT 1");
    assertNull(session.lineage("b"));
  }

  @Test
  void planIsExplainedInItsMode() throws Exception {
    String request = request("a", "SELECT id FROM range(3) WHERE id > 1").toString();
    assertTrue(result(session.explain(request, "simple")).startsWith("== Physical Plan =="));
    assertTrue(session.explain(request, "extended").contains("== Optimized Logical Plan =="));
  }

  /** Returns a result without the line with the rules that changed its plans. */
  private static String result(String answer) throws Exception {
    int end = answer.indexOf('\n');
    assertTrue(StatementRequest.JSON.readTree(answer.substring(0, end)).isObject());
    return answer.substring(end + 1);
  }

  @Test
  void defaultOfADeclaredVariableIsEvaluated() throws Exception {
    String answer =
        result(session.values(request("a", "DECLARE VARIABLE v INT DEFAULT 1 + 2").toString()));
    JsonNode values = StatementRequest.JSON.readTree(answer);
    assertEquals("1 + 2", values.get("default").textValue());
    assertEquals("[[\"session\",\"v\"]]", values.get("targets").toString());
    assertEquals(1, values.get("rows").size());
    assertTrue(values.get("row_type").textValue().contains("\"integer\""));
  }

  @Test
  void queryReturnsItsValues() throws Exception {
    JsonNode values =
        StatementRequest.JSON.readTree(
            result(session.values(request("a", "SELECT id FROM range(3)").toString())));
    assertEquals(3, values.get("rows").size());
    assertTrue(values.get("default").isNull());
    assertTrue(values.path("targets").isMissingNode());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "DECLARE VARIABLE v STRING DEFAULT reflect('java.util.UUID', 'randomUUID')",
        "DECLARE VARIABLE v INT DEFAULT (SELECT max(id) FROM other)",
        "SET VAR v = (SELECT max(id) FROM other)",
      })
  void valueOfAVariableHasToPassTheGuard(String text) {
    assertThrows(RejectionException.class, () -> session.values(request("a", text).toString()));
  }

  private ObjectNode withView(String text, String view) throws Exception {
    ObjectNode request = request("a", text);
    ((ArrayNode) request.get("views")).add(TestRequests.view("v", view));
    return request;
  }

  @Test
  void viewExistsDuringTheAnalysisOnly() throws Exception {
    ObjectNode request = withView("SELECT * FROM v WHERE id > 0", "SELECT id FROM range(3)");
    assertEquals(2, header(session.run(request.toString())).get("rows").intValue());
    assertTrue(session.spark().sessionState().catalog().getTempView("v").isEmpty());
    assertThrows(RejectionException.class, () -> run("b", "SELECT * FROM v"));
  }

  @Test
  void columnsOfAViewHaveItsNames() throws Exception {
    ObjectNode request =
        withView("SELECT * FROM v", "SELECT id AS A, id + 1 AS b, id + 2 AS a FROM range(3)");
    ArrayNode columns = ((ObjectNode) request.at("/views/0")).putArray("columns");
    columns.addArray().add("a").add("x").add("bigint");
    columns.addArray().add("B").add("y").add("bigint");
    columns.addArray().add("a").add("z").add("bigint");
    JsonNode header = header(session.run(request.toString()));
    assertEquals("[\"x\", \"y\", \"z\"]", header.get("columns").findValues("name").toString());
    columns.remove(2);
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> session.run(request.toString()));
    assertEquals("view column a of the view main.v", rejection.kind() + " " + rejection.subject());
  }

  @Test
  void viewHasTheSettingsOfItsCreation() throws Exception {
    ObjectNode request = withView("SELECT * FROM v", "SELECT CAST('x' AS INT) AS i");
    assertThrows(Exception.class, () -> session.run(request.toString()));
    ((ObjectNode) request.at("/views/0"))
        .putArray("settings")
        .addArray()
        .add("spark.sql.ansi.enabled")
        .add("false");
    assertEquals(1, header(session.run(request.toString())).get("rows").intValue());
  }

  @Test
  void hiddenColumnOfAViewIsFoundByName() throws Exception {
    ObjectNode request = withView("SELECT *, h FROM v", "SELECT id, id AS h FROM range(3)");
    ((ArrayNode) request.at("/views/0/unlisted_columns")).add("h");
    JsonNode header = header(session.run(request.toString()));
    assertEquals("[\"id\", \"h\"]", header.get("columns").findValues("name").toString());
  }

  @Test
  void barrierHidesFunctionsOfFiles() throws Exception {
    ObjectNode request =
        withView("SELECT monotonically_increasing_id() FROM v", "SELECT id FROM range(3)");
    assertEquals(3, header(session.run(request.toString())).get("rows").intValue());
    ((ObjectNode) request.at("/views/0")).put("is_barrier", true);
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> session.run(request.toString()));
    assertEquals("place", rejection.kind());
  }

  /** Returns a call of a function's body with one argument in place of `p`. */
  private static String call(String body, String settings, String argument) {
    String json =
        "{\"function\":\"f\",\"text\":\"%s\",\"relations\":0,\"given\":[0],\"settings\":[%s]}"
            .formatted(body, settings);
    return "__body_1('" + URLEncoder.encode(json, StandardCharsets.UTF_8) + "', " + argument + ")";
  }

  private static final String ROW_OF_ARGUMENTS =
      " FROM (SELECT CAST(NULL AS STRING) AS `__argument 0`)";
  private static final String LENIENT = "[\"spark.sql.ansi.enabled\",\"false\"]";

  @Test
  void bodyOfAFunctionHasTheSettingsOfItsCreation() throws Exception {
    String body = "SELECT CAST(`__argument 0` AS INT)" + ROW_OF_ARGUMENTS;
    String lenient = "SELECT 1 WHERE " + call(body, LENIENT, "'x'") + " IS NULL";
    assertEquals(1, run("a", lenient).get("rows").intValue());
    String strict = "SELECT 1 WHERE " + call(body, "", "'x'") + " IS NULL";
    assertThrows(Exception.class, () -> run("b", strict));
    String arguments =
        "SELECT " + call(body, LENIENT, "string(id)") + " AS x FROM range(3) WHERE id = 2";
    assertEquals(1, run("c", arguments).get("rows").intValue());
  }

  @Test
  void bodyWithAQueryBecomesASubquery() throws Exception {
    String body = "SELECT (SELECT max(id) FROM range(int(`__argument 0`)))" + ROW_OF_ARGUMENTS;
    String text =
        "SELECT 1 WHERE " + call(body.replace("int(`__argument 0`)", "5"), "", "'x'") + " = 4";
    assertEquals(1, run("a", text).get("rows").intValue());
  }

  @Test
  void bodyOfATableFunctionIsAQueryOverItsArguments() throws Exception {
    String body = "SELECT `__argument 0` AS c" + ROW_OF_ARGUMENTS;
    JsonNode header = run("a", "SELECT * FROM " + call(body, "", "'x'"));
    assertEquals(1, header.get("rows").intValue());
    assertEquals("never", header.get("repeatable").textValue());
  }

  @Test
  void bodyHasToPassTheGuard() {
    String body = "SELECT reflect('a', 'b')" + ROW_OF_ARGUMENTS;
    assertThrows(RejectionException.class, () -> run("a", "SELECT " + call(body, "", "'x'")));
  }

  @Test
  void callOfAnotherStatementsBodyIsUnknown() {
    String text =
        "SELECT " + call("SELECT 1" + ROW_OF_ARGUMENTS, "", "'x'").replace("__body_1", "__body_2");
    Exception failure = assertThrows(Exception.class, () -> run("a", text));
    assertTrue(failure.getMessage().contains("UNRESOLVED_ROUTINE"), failure.getMessage());
  }

  @Test
  void rowsAreWrittenIntoAFolder() throws Exception {
    Path table = Files.createDirectories(folder.resolve("table"));
    ObjectNode target = StatementRequest.JSON.createObjectNode().put("folder", table.toString());
    target.putNull("lease").putNull("compression").putNull("rules").putNull("keeps");
    target.putArray("partition_columns");
    String request = request("a", "SELECT id FROM range(10)").toString();
    session.checkWrite(request, target.toString());
    assertEquals(0, Files.list(table).count());
    JsonNode files =
        StatementRequest.JSON.readTree(result(session.write(request, target.toString())));
    assertTrue(files.size() > 0);
    assertEquals(10, TestSpark.SPARK.read().parquet(table.toString()).count());
  }
}
