package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PythonRowsRelation;
import deltagateway.write.IdentityColumnValues;
import deltagateway.write.clustering.SpaceFillingCurve;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The guard on parsed and on analyzed plans, with the lists of a server. */
@Tag("spark")
class PlanGuardTest {
  private static final PlanGuard GUARD = TestSpark.guard();
  private static final String STATEMENT = "statement-1";

  private static void ensureMayAnalyze(String text, String... relations) {
    GUARD.ensureMayAnalyze(TestSpark.parsed(text), Set.of(relations));
  }

  private static RejectionException refused(String text, String... relations) {
    return assertThrows(RejectionException.class, () -> ensureMayAnalyze(text, relations), text);
  }

  private static void assertRefused(String kind, String subject, RejectionException refusal) {
    assertEquals(List.of(kind, subject), List.of(refusal.kind(), refusal.subject()));
  }

  @Nested
  class Parsed {
    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT 1",
          "SELECT * FROM t",
          "SELECT * FROM T",
          "SELECT * FROM `t` AS x WHERE x.id > 0",
          "VALUES (1, upper('a')), (2, 'b')",
          "SELECT * FROM range(3)",
          "SELECT * FROM t, LATERAL explode(array(t.id)) AS e(x)",
          "SELECT id FROM t LATERAL VIEW explode(array(id)) e AS x",
          "SELECT (SELECT max(id) FROM t), EXISTS (SELECT 1 FROM t), id IN (SELECT id FROM t) FROM"
              + " t",
          "SELECT sum(id) OVER w FROM t WINDOW w AS (PARTITION BY (SELECT max(id) FROM t))",
          "SELECT id FROM t GROUP BY id HAVING count(*) > (SELECT max(id) FROM t) ORDER BY 1 LIMIT"
              + " 3 OFFSET 1",
          "SELECT id FROM t QUALIFY row_number() OVER (ORDER BY id) = 1",
          "SELECT * FROM (SELECT id FROM t) PIVOT (sum(id) FOR id IN (1, 2))",
          "SELECT id FROM t UNION SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 3",
          "SELECT builtin.abs(-1), system.builtin.upper('a'), SYSTEM.BuiltIn.count(*) FROM"
              + " builtin.range(3)",
          "FROM t |> WHERE id > 1 |> EXTEND id + 1 AS next |> AGGREGATE sum(next) GROUP BY id",
        })
    void queryOverBoundRelationsMayBeAnalyzed(String text) {
      ensureMayAnalyze(text, "t");
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "SELECT * FROM parquet.`/tmp/x` | parquet.`/tmp/x`",
          "SELECT * FROM csv.`/etc/passwd` | csv.`/etc/passwd`",
          "SELECT * FROM other | other",
          "SELECT * FROM default.t | default.t",
          "SELECT * FROM spark_catalog.default.t | spark_catalog.default.t",
          "SELECT * FROM global_temp.t | global_temp.t",
          "SELECT * FROM `t.u` | `t.u`",
          "SELECT * FROM `a``b` | `a``b`",
          "TABLE other | other",
          "SELECT * FROM t JOIN other USING (id) | other",
          "SELECT (SELECT max(id) FROM other) FROM t | other",
          "SELECT * FROM t WHERE id IN (SELECT id FROM other) | other",
          "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM other) | other",
          "SELECT * FROM t, LATERAL (SELECT * FROM other) | other",
          "SELECT * FROM t ORDER BY (SELECT max(id) FROM other) | other",
          "SELECT * FROM t LIMIT (SELECT max(id) FROM other) | other",
          "SELECT sum(id) OVER w FROM t WINDOW w AS (ORDER BY (SELECT max(id) FROM other)) | other",
          "SELECT sum(id) OVER (ORDER BY (SELECT max(id) FROM other)) FROM t | other",
          "SELECT count(*) FILTER (WHERE id IN (SELECT id FROM other)) FROM t | other",
          "SELECT transform(array(1), x -> (SELECT max(id) FROM other)) FROM t | other",
          "SELECT * FROM range((SELECT max(id) FROM other)) | other",
          "SELECT * FROM VALUES ((SELECT max(id) FROM other)) | other",
          "SELECT * FROM t UNION ALL SELECT * FROM other | other",
          "WITH a AS (SELECT * FROM other) SELECT 1 | other",
          "SELECT (WITH a AS (WITH b AS (SELECT * FROM other) SELECT * FROM b) SELECT id FROM a) |"
              + " other",
        })
    void relationThatWasNotBoundIsRefusedWhereverItIs(String text, String name) {
      assertRefused("relation", name, refused(text, "t"));
      ensureMayAnalyze(text.replace(name, "t"), "t");
    }

    @Test
    void relationOfAStreamIsRefused() {
      assertRefused("operator", "NamedStreamingRelation", refused("SELECT * FROM STREAM t", "t"));
    }

    @Test
    void nameOfAWithIsBoundInItsBodyAndInLaterDefinitionsOnly() {
      ensureMayAnalyze("WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM A, b");
      ensureMayAnalyze(
          "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM a");
      assertRefused(
          "relation", "b", refused("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a"));
      assertRefused(
          "relation", "a", refused("SELECT (WITH a AS (SELECT 1) SELECT * FROM a), x FROM a"));
      assertRefused(
          "relation",
          "b",
          refused("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM b"));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "SELECT reflect('java.lang.System', 'exit', 0) | reflect",
          "SELECT REFLECT('java.lang.System', 'exit', 0) | REFLECT",
          "SELECT `reflect`('a', 'b') | reflect",
          "SELECT java_method('a', 'b') | java_method",
          "SELECT builtin.reflect('a', 'b') | reflect",
          "SELECT system.builtin.reflect('a', 'b') | reflect",
          "SELECT default.abs(1) | default.abs",
          "SELECT other.builtin.abs(1) | other.builtin.abs",
          "SELECT spark_catalog.default.abs(1) | spark_catalog.default.abs",
          "SELECT no_such_function(1) | no_such_function",
          "SELECT transform(array('x'), x -> reflect('a', x)) | reflect",
          "SELECT sum(1) OVER w FROM t WINDOW w AS (ORDER BY reflect('a', 'b')) | reflect",
          "SELECT 1 WHERE EXISTS (SELECT reflect('a', 'b')) | reflect",
          "WITH a AS (SELECT reflect('a', 'b')) SELECT 1 | reflect",
          "SELECT id FROM t LATERAL VIEW reflect('a', 'b') e | reflect",
          "SELECT id FROM t GROUP BY id HAVING reflect('a', 'b') = 'c' | reflect",
        })
    void functionThatIsNotListedIsRefusedWhereverItIs(String text, String name) {
      assertRefused("function", name, refused(text, "t"));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "SELECT * FROM read_files('/etc') | read_files",
          "SELECT * FROM builtin.python_worker_logs() | python_worker_logs",
          "SELECT * FROM other.range(3) | other.range",
          "SELECT * FROM abs(3) | abs",
          "SELECT * FROM t, LATERAL read_files('/etc') | read_files",
        })
    void tableFunctionThatIsNotListedIsRefused(String text, String name) {
      assertRefused("table function", name, refused(text, "t"));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "DROP TABLE t",
          "CREATE TABLE t (a INT)",
          "CREATE TEMPORARY VIEW v AS SELECT 1",
          "INSERT INTO t VALUES (1)",
          "INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT 1",
          "DELETE FROM t",
          "UPDATE t SET id = 1",
          "MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
          "SET spark.sql.ansi.enabled = false",
          "SHOW TABLES",
          "DESCRIBE TABLE t",
          "EXPLAIN SELECT 1",
          "CACHE TABLE t",
          "USE default",
          "ADD JAR '/tmp/x.jar'",
          "CREATE FUNCTION f AS 'x.Y' USING JAR '/tmp/x.jar'",
          "ANALYZE TABLE t COMPUTE STATISTICS",
          "REFRESH TABLE t",
          "SELECT TRANSFORM (id) USING 'cat' FROM t",
          "FROM t INSERT INTO u SELECT *",
          "SELECT * FROM IDENTIFIER('a' || 'b')",
          "SELECT * FROM t VERSION AS OF 1",
        })
    void commandsAndOtherOperatorsAreRefused(String text) {
      RejectionException refusal = refused(text, "t");
      assertEquals("operator", refusal.kind());
      assertTrue(refusal.subject().matches("[A-Z]\\w+"), refusal.subject());
    }

    @Test
    void expressionAloneMayReadNothing() {
      Expression plain =
          assertDoesNotThrow(
              () -> TestSpark.SPARK.sessionState().sqlParser().parseExpression("upper('a')"));
      GUARD.ensureMayAnalyze(plain);
      Expression reading =
          assertDoesNotThrow(
              () ->
                  TestSpark.SPARK.sessionState().sqlParser().parseExpression("(SELECT 1 FROM t)"));
      assertRefused(
          "relation",
          "t",
          assertThrows(RejectionException.class, () -> GUARD.ensureMayAnalyze(reading)));
    }

    @Test
    void refusalOfAFunctionHasItsPlaceInTheText() {
      RejectionException refusal = refused("SELECT 1,\n  reflect('a', 'b')");
      assertEquals(scala.Option.apply(2), refusal.origin().line());
      assertEquals(scala.Option.apply(2), refusal.origin().startPosition());
      assertNull(refused("SELECT * FROM other").origin());
    }
  }

  @Nested
  class Analyzed {
    @BeforeAll
    static void nameRelations() {
      TestSpark.name("own", scan(STATEMENT));
      TestSpark.name("foreign_scan", scan("statement-2"));
      TestSpark.name("own_rows", rows(STATEMENT));
      TestSpark.name("foreign_rows", rows("statement-2"));
    }

    private static LogicalPlan scan(String statementId) {
      return TestRequests.relation(statementId, TestRequests.scan("t", "id BIGINT"));
    }

    private static LogicalPlan rows(String statementId) {
      ObjectNode node =
          StatementRequest.JSON.createObjectNode().put("relation", "r").put("columns", "id BIGINT");
      node.putArray("keys");
      node.putArray("costly");
      node.putArray("paths");
      return new PythonRowsRelation(TestSpark.SPARK, null, statementId, 0, node, "UTC").relation();
    }

    private static void ensureMayRun(LogicalPlan plan) {
      GUARD.ensureMayRun(plan, STATEMENT);
    }

    private static RejectionException refused(LogicalPlan plan) {
      return assertThrows(RejectionException.class, () -> ensureMayRun(plan));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT 1",
          "SELECT * FROM %s",
          "SELECT max(id) FROM %s GROUP BY id % 2 HAVING count(*) > 1 ORDER BY 1 LIMIT 3",
          "SELECT * FROM range(3) JOIN %s USING (id)",
          "WITH a AS (SELECT id FROM %s) SELECT * FROM a x, a y",
          "SELECT (SELECT max(id) FROM %s), id IN (SELECT id FROM %s) FROM range(3)",
          "SELECT sum(id) OVER (PARTITION BY id) FROM %s",
          "SELECT explode(array(id)) FROM %s",
          "SELECT id FROM %s UNION SELECT 1",
        })
    void onlyScansAndRowsOfTheStatementMayBeRead(String text) {
      for (String own : List.of("own", "own_rows"))
        ensureMayRun(TestSpark.analyzed(text.replace("%s", own)));
      if (!text.contains("%s")) return;
      assertRefused(
          "relation",
          "HadoopFsRelation",
          refused(TestSpark.analyzed(text.replace("%s", "foreign_scan"))));
      assertRefused(
          "relation",
          "PythonRowsRelation",
          refused(TestSpark.analyzed(text.replace("%s", "foreign_rows"))));
    }

    @Test
    void filesThatSparkFoundByItselfAreRefused(@TempDir Path folder) {
      String path = folder.resolve("files").toString();
      TestSpark.SPARK.range(3).write().parquet(path);
      LogicalPlan plan = TestSpark.analyzed("SELECT * FROM parquet.`" + path + "`");
      assertRefused("relation", "HadoopFsRelation", refused(plan));
    }

    @Test
    void rowsOfAProgramAreRefused() {
      var frame = TestSpark.SPARK.range(1).toDF();
      LogicalPlan plan =
          TestSpark.SPARK
              .createDataFrame(frame.toJavaRDD(), frame.schema())
              .queryExecution()
              .analyzed();
      assertRefused("operator", "LogicalRDD", refused(plan));
    }

    @Test
    void codeOfAProgramIsRefused() {
      UDF1<Integer, Integer> twice = number -> number * 2;
      TestSpark.SPARK.udf().register("twice", twice, DataTypes.IntegerType);
      assertRefused("expression", "ScalaUDF", refused(TestSpark.analyzed("SELECT twice(2)")));
      LogicalPlan reflected = TestSpark.analyzed("SELECT reflect('java.util.UUID', 'randomUUID')");
      assertRefused("expression", "CallMethodViaReflection", refused(reflected));
      ensureMayRun(TestSpark.analyzed("SELECT abs(-2)"));
    }

    private static Expression staticCall(Class<?> type) {
      return new StaticInvoke(
          type,
          DataTypes.BooleanType,
          "x",
          expressions(),
          types(),
          true,
          true,
          true,
          scala.Option.empty());
    }

    private static Expression call(Class<?> type) {
      Expression target = new Literal(null, new ObjectType(type));
      return new Invoke(
          target, "x", DataTypes.BooleanType, expressions(), types(), true, true, true);
    }

    private static scala.collection.immutable.Seq<Expression> expressions() {
      return scala.jdk.javaapi.CollectionConverters.asScala(new ArrayList<Expression>()).toSeq();
    }

    private static scala.collection.immutable.Seq<AbstractDataType> types() {
      return scala.jdk.javaapi.CollectionConverters.asScala(new ArrayList<AbstractDataType>())
          .toSeq();
    }

    @Test
    void methodsOfSparkMayBeCalledByNameAndNoOthers() {
      ensureMayRun(TestSpark.over(staticCall(ByteArrayMethods.class)));
      ensureMayRun(TestSpark.over(staticCall(IdentityColumnValues.class)));
      ensureMayRun(TestSpark.over(call(SpaceFillingCurve.class)));
      assertRefused(
          "expression", "StaticInvoke", refused(TestSpark.over(staticCall(System.class))));
      assertRefused(
          "expression",
          "StaticInvoke",
          refused(TestSpark.over(staticCall(org.apache.spark.SparkContext.class))));
      assertRefused("expression", "Invoke", refused(TestSpark.over(call(Runtime.class))));
      Expression onText =
          new Invoke(
              Literal.create("a", DataTypes.StringType),
              "x",
              DataTypes.BooleanType,
              expressions(),
              types(),
              true,
              true,
              true);
      assertRefused("expression", "Invoke", refused(TestSpark.over(onText)));
    }

    @Test
    void placesAreHiddenOverRowsThatTheReaderMayNotKnow() {
      GUARD.ensureHidesFiles(TestSpark.analyzed("SELECT id, rand(1) FROM own"));
      for (String function :
          TestSpark.words(
              "input_file_name input_file_block_start input_file_block_length"
                  + " monotonically_increasing_id spark_partition_id")) {
        LogicalPlan plan =
            TestSpark.analyzed("SELECT id FROM own WHERE length(string(" + function + "())) > 0");
        RejectionException refusal =
            assertThrows(RejectionException.class, () -> GUARD.ensureHidesFiles(plan));
        assertRefused(
            "place",
            function,
            new RejectionException(refusal.kind(), refusal.subject().toLowerCase(Locale.ROOT)));
        ensureMayRun(plan);
      }
    }
  }

  @Test
  void listsOfAServerNeitherOverlapNorAllowForeignCode() {
    Set<String> allowed = TestSpark.list("expressions");
    Set<String> refused = TestSpark.list("refusedExpressions");
    assertTrue(allowed.size() > 400 && refused.size() > 100, allowed.size() + " " + refused.size());
    assertTrue(refused.stream().noneMatch(allowed::contains));
    for (String code :
        TestSpark.words(
            "CallMethodViaReflection TryReflect ScalaUDF PythonUDF ApplyFunctionExpression")) {
      assertTrue(refused.contains("org.apache.spark.sql.catalyst.expressions." + code), code);
    }
  }
}
