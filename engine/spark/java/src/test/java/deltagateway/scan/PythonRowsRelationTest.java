package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.CallbackServer;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.jdk.javaapi.CollectionConverters;

/** Rows that Python creates, of the objects that conditions on keys select. */
@Tag("spark")
class PythonRowsRelationTest {
  private static final StructType KEYS = StructType.fromDDL("a STRING, b STRING");
  private static final StructType ROWS = StructType.fromDDL("a STRING, b STRING, size BIGINT");

  private CallbackServer server;
  private volatile int rowCount = 1;

  @BeforeEach
  void start() throws IOException {
    server = new CallbackServer(this::answer);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private byte[] answer(JsonNode request) {
    if (!request.has("chosen"))
      return CallbackServer.messages(3, message(KEYS, row("x", "1"), row("x", "2"), row("y", "1")));
    return CallbackServer.messages(rowCount, message(ROWS, row("x", "1", 5L)));
  }

  private static InternalRow row(Object... values) {
    Object[] converted = values.clone();
    for (int i = 0; i < values.length; i++)
      if (values[i] instanceof String text) converted[i] = UTF8String.fromString(text);
    return new GenericInternalRow(converted);
  }

  private static byte[] message(StructType schema, InternalRow... rows) {
    Iterator<InternalRow> all = List.of(rows).iterator();
    return ArrowConverters$.MODULE$
        .toBatchIterator(CollectionConverters.asScala(all), schema, 100, "UTC", false, false, null)
        .next();
  }

  private PythonRowsRelation relation(String keys) {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("relation", "r").put("columns", "a STRING, b STRING, size BIGINT");
    for (String key : keys.isEmpty() ? new String[0] : keys.split(","))
      node.withArray("keys").add(key);
    if (keys.isEmpty()) node.putArray("keys");
    node.putArray("costly").add("size");
    node.putArray("paths").add("b");
    return new PythonRowsRelation(
        TestSpark.SPARK, server.callbacks(), "statement-1", 2, node, "UTC");
  }

  private static LogicalPlan analyzed(PythonRowsRelation relation, String query) {
    TestSpark.name("python_rows", relation.relation());
    return TestSpark.analyzed(query.replace("ROWS", "python_rows"));
  }

  private JsonNode fetched(PythonRowsRelation relation, String query) {
    PythonRowsRelation.placed(TestSpark.SPARK, analyzed(relation, query));
    return server.requests.get(server.requests.size() - 1);
  }

  @ParameterizedTest
  @CsvSource({
    "SELECT a FROM ROWS WHERE a = 'x', '[0,1]'",
    "SELECT a FROM ROWS WHERE a = 'y' AND b = '1', '[2]'",
    "SELECT a FROM ROWS WHERE a = 'z', '[]'",
    "SELECT a FROM ROWS WHERE b LIKE '2%' AND size > 1, '[1]'",
    "SELECT a FROM (SELECT upper(a) AS a FROM ROWS) WHERE a = 'Y', '[2]'",
    "SELECT a FROM ROWS WHERE a = 'y' UNION ALL SELECT a FROM ROWS WHERE b = '2', '[1,2]'",
    "SELECT a FROM ROWS WHERE size > 1, null",
    "SELECT a FROM ROWS, null",
    "SELECT a FROM ROWS WHERE a = 'x' UNION ALL SELECT a FROM ROWS, null",
    "SELECT a FROM ROWS WHERE a = 'x' AND rand() < 2, '[0,1]'",
    "SELECT a FROM ROWS WHERE rand() < 2, null",
  })
  void conditionsOnKeysSelectObjects(String query, String chosen) {
    JsonNode request = fetched(relation("a,b"), query);
    assertEquals(chosen, request.get("chosen").toString());
    assertEquals("statement-1", request.get("statement").textValue());
    assertEquals(2, request.get("given").intValue());
  }

  @ParameterizedTest
  @CsvSource({
    "SELECT a FROM ROWS WHERE a = 'x', '[]', false",
    "SELECT size FROM ROWS WHERE a = 'x', '[\"size\"]', true",
    "SELECT a FROM ROWS WHERE size > 1, '[\"size\"]', true",
    "SELECT count(*) FROM ROWS, '[]', false",
    "SELECT max(size) FROM ROWS, '[\"size\"]', true",
    "SELECT * FROM ROWS, '[\"size\"]', true",
  })
  void costlyColumnIsRequestedIfItIsUsed(String query, String used, boolean isUsed) {
    PythonRowsRelation relation = relation("a,b");
    assertEquals(used, fetched(relation, query).get("used").toString());
    assertEquals(isUsed, relation.usesCostly());
  }

  @Test
  void rowsWithoutKeysAreAllRequested() {
    JsonNode request = fetched(relation(""), "SELECT a FROM ROWS WHERE a = 'x'");
    assertTrue(request.get("chosen").isNull());
    assertEquals(1, server.requests.size());
  }

  @ParameterizedTest
  @CsvSource({"1, true", "20000, true", "20001, false"})
  void fewRowsAreLocalAndManyAreReadByTasks(int count, boolean isLocal) {
    rowCount = count;
    PythonRowsRelation relation = relation("");
    LogicalPlan placed =
        PythonRowsRelation.placed(TestSpark.SPARK, analyzed(relation, "SELECT * FROM ROWS"));
    assertEquals(isLocal, placed.collectLeaves().head() instanceof LocalRelation);
    List<String> rows = new ArrayList<>();
    for (Row row : Dataset$.MODULE$.ofRows(TestSpark.SPARK, placed).collectAsList())
      rows.add(row.toString());
    assertEquals(List.of("[x,1,5]"), rows);
    assertTrue(relation.sizeInBytes() > 1);
  }

  @Test
  void planWithoutSuchRowsIsUnchanged() {
    LogicalPlan plan = TestSpark.analyzed("SELECT 1");
    assertSame(plan, PythonRowsRelation.placed(TestSpark.SPARK, plan));
    assertTrue(server.requests.isEmpty());
  }

  @Test
  void relationHasItsDescription() {
    PythonRowsRelation relation = relation("a");
    assertEquals("r", relation.toString());
    assertEquals("statement-1", relation.statementId());
    assertTrue(relation.isOfPaths("b"));
    assertFalse(relation.isOfPaths("a"));
    assertEquals(ROWS, relation.schema());
    assertSame(relation, PythonRowsRelation.of(relation.relation()));
  }

  @Test
  void failureOfPythonFailsTheQuery() throws IOException {
    server.close();
    LogicalPlan plan = analyzed(relation(""), "SELECT * FROM ROWS");
    assertThrows(RuntimeException.class, () -> PythonRowsRelation.placed(TestSpark.SPARK, plan));
  }
}
