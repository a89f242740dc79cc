package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Plans of queries with what a table enforces. */
@Tag("spark")
class RowEnforcerTest {
  private static final SparkSession SPARK = TestSpark.SPARK;

  private static ObjectNode request(String columns, Consumer<ObjectNode> change) {
    String schema = StructType.fromDDL(columns).json();
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("label", "main.t").put("columns", schema).put("stored", schema);
    node.put("by_name", false).put("fields", "position").put("is_arranged", false);
    node.put("joins_tasks", false).put("rebalanced", false).put("small_bytes", 0);
    node.put("file_bytes", 1 << 20);
    for (String name : List.of("steps", "partitions", "partition_columns", "order"))
      node.putArray(name);
    change.accept(node);
    return node;
  }

  private static ObjectNode step(ObjectNode request) {
    ObjectNode step = request.withArray("steps").addObject();
    step.putNull("settings").putArray("expressions");
    step.putArray("counters");
    step.putArray("spread_by");
    return step;
  }

  private static ObjectNode expression(ObjectNode step, String name, String text) {
    step.withArray("expressions").addObject().put("name", name).put("text", text);
    return step;
  }

  private static LogicalPlan enforced(ObjectNode request, String query) throws Exception {
    return enforced(request, query, false);
  }

  private static LogicalPlan enforced(ObjectNode request, String query, boolean withoutJob)
      throws Exception {
    RowEnforcer enforcer =
        new RowEnforcer(
            SPARK,
            settings -> {
              SQLConf conf = SPARK.sessionState().conf().clone();
              settings.forEach(conf::setConfString);
              return conf;
            },
            TestSpark.guard(),
            "statement-1",
            request,
            withoutJob);
    var source = Dataset$.MODULE$.ofRows(SPARK, TestSpark.parsed(query)).queryExecution();
    return enforcer.enforced(source).analyzed();
  }

  private static List<String> rows(LogicalPlan plan) {
    List<String> rows = new ArrayList<>();
    for (Row row : Dataset$.MODULE$.ofRows(SPARK, plan).collectAsList()) rows.add(row.toString());
    return rows;
  }

  private static boolean has(LogicalPlan plan, Class<?> node) {
    return plan.find(node::isInstance).isDefined();
  }

  @Test
  void columnsAreAssignedByPositionOrName() throws Exception {
    ObjectNode byPosition = request("a INT, b STRING", node -> {});
    LogicalPlan plan = enforced(byPosition, "SELECT id AS b, 7 AS a FROM range(1)");
    assertEquals("struct<a:int,b:string>", plan.schema().catalogString());
    assertEquals(List.of("[0,7]"), rows(plan));
    ObjectNode byName = request("a INT, b STRING", node -> node.put("by_name", true));
    assertEquals(List.of("[7,0]"), rows(enforced(byName, "SELECT id AS b, 7 AS A FROM range(1)")));
  }

  @ParameterizedTest
  @CsvSource({"SELECT 1 AS a", "'SELECT 1 AS a, 2 AS b, 3 AS c'"})
  void otherNumberOfColumnsIsRejected(String query) {
    ObjectNode request = request("a INT, b INT", node -> {});
    AnalysisException failure =
        assertThrows(AnalysisException.class, () -> enforced(request, query));
    assertTrue(failure.getMessage().contains("`main`.`t`"), failure.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "position, '[[1,2]]'",
    "name, '[[2,1]]'",
    "filled, '[[2,1]]'",
  })
  void fieldsOfStructsAreMatched(String fields, String expected) throws Exception {
    ObjectNode request = request("s STRUCT<x: INT, y: INT>", node -> node.put("fields", fields));
    assertEquals(
        List.of(expected), rows(enforced(request, "SELECT named_struct('y', 1, 'x', 2) AS s")));
  }

  @Test
  void missingFieldsBecomeNullIfTheyAreFilled() throws Exception {
    String query = "SELECT array(named_struct('x', 2)) AS s";
    String columns = "s ARRAY<STRUCT<x: INT, y: INT>>";
    ObjectNode filled = request(columns, node -> node.put("fields", "filled"));
    assertEquals(1, rows(enforced(filled, query)).size());
    assertTrue(rows(enforced(filled, query)).get(0).contains("[2,null]"));
    ObjectNode byName = request(columns, node -> node.put("fields", "name"));
    assertThrows(AnalysisException.class, () -> enforced(byName, query));
  }

  @Test
  void stepsAreEvaluatedOverEachOther() throws Exception {
    ObjectNode request =
        request(
            "a INT, b INT",
            node -> {
              expression(expression(step(node), "a", "a + 1"), "b", "b");
              expression(expression(step(node), "a", "a * 10"), "b", "a + b");
            });
    assertEquals(List.of("[20,3]"), rows(enforced(request, "SELECT 1 AS x, 1 AS y FROM range(1)")));
  }

  @Test
  void expressionThatRaisesFailsTheRowsThatAreWritten() throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node ->
                expression(
                    step(node), "a", "CASE WHEN a > 0 THEN a ELSE raise_error('a > 0') END"));
    assertEquals(List.of("[1]"), rows(enforced(request, "SELECT 1 FROM range(1)")));
    LogicalPlan violated = enforced(request, "SELECT CAST(-id AS INT) FROM range(2)");
    Exception failure = assertThrows(Exception.class, () -> rows(violated));
    assertTrue(failure.getMessage().contains("a > 0"), failure.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"true, failed", "false, '[null]'"})
  void settingsOfTheCreationApply(String ansi, String expected) throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node -> {
              ObjectNode step = expression(step(node), "a", "CAST('x' AS INT)");
              step.putArray("settings").addArray().add("spark.sql.ansi.enabled").add(ansi);
            });
    LogicalPlan plan = enforced(request, "SELECT 1 FROM range(1)");
    String found;
    try {
      found = rows(plan).get(0);
    } catch (Exception failure) {
      found = "failed";
    }
    assertEquals(expected, found);
  }

  @ParameterizedTest
  @CsvSource({
    "reflect('java.lang.System'), function",
    "(SELECT 1 FROM other), relation",
    "java_method('a'), function"
  })
  void expressionThatTheGuardRejectsIsNotPlanned(String text, String kind) {
    ObjectNode request = request("a INT", node -> expression(step(node), "a", text));
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> enforced(request, "SELECT 1"));
    assertEquals(kind, rejection.kind());
  }

  @Test
  void textIsExactlyOneExpression() {
    for (String text : List.of("a FROM other", "a, a", "a; SELECT 1", ""))
      assertThrows(
          Exception.class,
          () -> enforced(request("a INT", node -> expression(step(node), "a", text)), "SELECT 1"),
          text);
  }

  @Test
  void identityColumnIsAdded() throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node -> {
              node.put("stored", StructType.fromDDL("a INT, id BIGINT").json());
              ObjectNode step = expression(step(node), "a", "a");
              step.withArray("counters")
                  .addObject()
                  .put("name", "id")
                  .put("first", 5)
                  .put("step", 2);
            });
    assertEquals(
        List.of("[7,5]", "[7,7]", "[7,9]"),
        rows(enforced(request, "SELECT 7 FROM range(0, 3, 1, 1)")));
  }

  @Test
  void assignedStepIsCastAsPartitionValues() throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node -> {
              String stored = StructType.fromDDL("p DATE").json();
              node.put("stored", stored);
              expression(step(node), "p", "'2020-01-02'").put("assigned", stored);
            });
    assertEquals(List.of("[2020-01-02]"), rows(enforced(request, "SELECT 1 FROM range(1)")));
  }

  @Test
  void storedColumnsHavePhysicalNamesAndTypes() throws Exception {
    ObjectNode request =
        request("a INT", node -> node.put("stored", StructType.fromDDL("`col-1` BIGINT").json()));
    LogicalPlan plan = enforced(request, "SELECT 7 FROM range(1)");
    assertEquals("struct<col-1:bigint>", plan.schema().catalogString());
    assertEquals(List.of("[7]"), rows(plan));
  }

  @Test
  void partitionValuesAreAdded() throws Exception {
    ObjectNode request =
        request(
            "a INT, s STRING",
            node -> {
              node.withArray("partitions")
                  .addObject()
                  .put("name", "a_bucket")
                  .put("text", "a")
                  .put("transform", "truncate")
                  .put("width", 10);
              node.withArray("partitions")
                  .addObject()
                  .put("name", "s_trunc")
                  .put("text", "s")
                  .put("transform", "truncate")
                  .put("width", 1);
              node.withArray("partition_columns").add("a_bucket").add("s_trunc");
            });
    LogicalPlan plan = enforced(request, "SELECT 17 AS a, 'abc' AS s FROM range(1)");
    assertEquals(List.of("[17,abc,10,x61]"), rows(plan));
    assertTrue(has(plan, RebalancePartitions.class));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT 1 | {} | none",
        "VALUES (1), (2) | {} | Repartition",
        "SELECT 1 FROM range(9) | {} | none",
        "SELECT 1 FROM range(9) | {\"rebalanced\": true} | RebalancePartitions",
        "SELECT 1 FROM range(9) | {\"small_bytes\": 1000000} | RebalancePartitions",
        "SELECT id FROM range(9) GROUP BY id | {\"small_bytes\": 1000000} | none",
        "SELECT 1 FROM range(9) | {\"partition_columns\": [\"a\"]} | RebalancePartitions",
        "SELECT 1 FROM range(9) | {\"partition_columns\": [\"a\"], \"distribution\": \"none\"} |"
            + " none",
        "SELECT 1 FROM range(9) | {\"joins_tasks\": true, \"small_bytes\": 1000000} | Repartition",
        "SELECT 1 FROM range(9) | {\"joins_tasks\": true} | none",
        "SELECT 1 FROM range(9) | {\"is_arranged\": true, \"rebalanced\": true} | none",
      })
  void rowsAreDistributedToTasks(String query, String json, String expected) throws Exception {
    ObjectNode changes = (ObjectNode) StatementRequest.JSON.readTree(json);
    LogicalPlan plan = enforced(request("a INT", node -> node.setAll(changes)), query);
    String found =
        has(plan, RebalancePartitions.class)
            ? "RebalancePartitions"
            : has(plan, Repartition.class) ? "Repartition" : "none";
    assertEquals(expected, found);
  }

  @Test
  void literalsWithoutAJobAreNotDistributed() throws Exception {
    LogicalPlan plan = enforced(request("a INT", node -> {}), "VALUES (1), (2)", true);
    assertFalse(has(plan, Repartition.class));
    assertTrue(RowEnforcer.isLiteral(plan));
    assertFalse(RowEnforcer.isLiteral(TestSpark.analyzed("SELECT * FROM range(1)")));
    assertTrue(has(plan, LocalRelation.class));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | true",
        "{\"partition_columns\": [\"b\"]} | false",
        "{\"partition_columns\": [\"b\"], \"distribution\": \"range\"} | true",
        "{\"distribution\": \"none\"} | false",
        "{\"is_arranged\": true} | false",
      })
  void rowsAreSortedInTheTablesOrder(String json, boolean isGlobal) throws Exception {
    ObjectNode changes = (ObjectNode) StatementRequest.JSON.readTree(json);
    ObjectNode request =
        request(
            "a INT, b INT",
            node -> {
              node.setAll(changes);
              node.withArray("order")
                  .addObject()
                  .put("text", "a")
                  .put("descending", true)
                  .put("nulls_first", false);
            });
    LogicalPlan plan =
        enforced(request, "SELECT IF(id = 2, NULL, CAST(id AS INT)), 1 FROM range(0, 4, 1, 1)");
    Sort sort = assertInstanceOf(Sort.class, plan);
    assertEquals(isGlobal, sort.global());
    assertEquals(List.of("[3,1]", "[1,1]", "[0,1]", "[null,1]"), rows(plan));
  }

  @ParameterizedTest
  @CsvSource({
    "truncate, 10, '[9]', '[10]', '[2]'",
    "identity, 0, '[2]', '[9]', '[10]'",
  })
  void orderMayBeOfATransform(
      String transform, int width, String first, String second, String third) throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node ->
                node.withArray("order")
                    .addObject()
                    .put("text", "a")
                    .put("descending", false)
                    .put("nulls_first", true)
                    .put("transform", transform)
                    .put("width", width));
    List<String> found =
        rows(enforced(request, "SELECT CAST(v AS INT) FROM (SELECT explode(array(9, 2, 10)) v)"));
    // Within one range of ten, rows have no order.
    if (transform.equals("truncate")) assertEquals(second, found.get(2));
    else assertEquals(List.of(first, second, third), found);
  }

  @ParameterizedTest
  @CsvSource({"true, 2", "false, 2", "true, 0"})
  void rowsAreSortedAlongACurve(boolean isHilbert, int numFiles) throws Exception {
    ObjectNode request =
        request(
            "a INT, b INT",
            node -> {
              ObjectNode curve = node.putObject("curve");
              curve.putArray("columns").add("a").add("b");
              curve.put("sampled", 1.0).put("is_hilbert", isHilbert);
              if (numFiles > 0) curve.put("num_files", numFiles);
            });
    LogicalPlan plan =
        enforced(request, "SELECT CAST(id AS INT), CAST(-id AS INT) FROM range(0, 8, 1, 2)");
    assertEquals("struct<a:int,b:int>", plan.schema().catalogString());
    assertEquals(numFiles > 0, has(plan, RepartitionByExpression.class));
    assertEquals(8, rows(plan).size());
    assertTrue(has(plan, Sort.class));
  }

  @Test
  void sampleOfACurveMayBeAFraction() throws Exception {
    ObjectNode request =
        request(
            "a INT",
            node -> {
              ObjectNode curve = node.putObject("curve");
              curve.putArray("columns").add("a");
              curve.put("sampled", 0.5).put("is_hilbert", false).put("num_files", 2);
            });
    assertEquals(20, rows(enforced(request, "SELECT CAST(id AS INT) FROM range(20)")).size());
  }
}
