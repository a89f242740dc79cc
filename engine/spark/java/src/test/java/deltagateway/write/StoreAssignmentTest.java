package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Types that values are cast to before Spark assigns them, by policy. */
@Tag("spark")
class StoreAssignmentTest {
  private static StoreAssignment assignment(String policy, boolean arePartitions) {
    SQLConf conf = TestSpark.SPARK.sessionState().conf().clone();
    conf.setConfString("spark.sql.storeAssignmentPolicy", policy);
    return new StoreAssignment(conf, arePartitions);
  }

  private static List<Attribute> columns(String ddl) {
    StructType schema = StructType.fromDDL(ddl);
    return ScalaConversions.list(
        Dataset$.MODULE$
            .ofRows(TestSpark.SPARK, TestSpark.analyzed("SELECT 1"))
            .sparkSession()
            .createDataFrame(new ArrayList<>(), schema)
            .queryExecution()
            .analyzed()
            .output());
  }

  private static LogicalPlan cast(String policy, String query, String target) {
    return assignment(policy, false).cast(TestSpark.analyzed(query), columns(target), false);
  }

  private static String type(LogicalPlan plan) {
    return plan.output().head().dataType().catalogString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ANSI | string | int | int",
        "ANSI | string | date | date",
        "ANSI | string | timestamp | timestamp",
        "ANSI | string | boolean | boolean",
        "ANSI | string | decimal(5,2) | decimal(5,2)",
        "ANSI | boolean | int | int",
        "ANSI | int | boolean | boolean",
        "ANSI | bigint | timestamp | timestamp",
        "ANSI | timestamp | bigint | bigint",
        "ANSI | int | int | int",
        "ANSI | bigint | int | bigint",
        "ANSI | int | bigint | int",
        "ANSI | int | string | int",
        "ANSI | date | timestamp | date",
        "ANSI | date | int | date",
        "ANSI | int | array<int> | int",
        "ANSI | array<string> | array<int> | array<int>",
        "ANSI | array<int> | int | array<int>",
        "ANSI | map<string,string> | map<int,date> | map<int,date>",
        "ANSI | struct<a:string,b:int> | struct<a:date,b:string> | struct<a:date,b:int>",
        "ANSI | struct<a:string,b:int> | struct<a:int> | struct<a:int,b:int>",
        "ANSI | array<struct<a:string>> | array<struct<a:int>> | array<struct<a:int>>",
        "LEGACY | string | int | int",
        "LEGACY | int | bigint | bigint",
        "LEGACY | int | string | string",
        "LEGACY | timestamp | int | int",
        "LEGACY | int | array<int> | int",
        "LEGACY | array<string> | array<int> | array<int>",
        "STRICT | string | int | string",
        "STRICT | bigint | int | bigint",
        "STRICT | array<string> | array<int> | array<string>",
      })
  void valueIsCastIfSparkWouldReject(String policy, String from, String to, String expected) {
    LogicalPlan plan = cast(policy, "SELECT CAST(NULL AS " + from + ") AS c", "c " + to);
    assertEquals(expected, type(plan));
    assertEquals("c", plan.output().head().name());
  }

  @ParameterizedTest
  @CsvSource({"STRICT, int", "ANSI, int", "LEGACY, int"})
  void partitionValuesAreStringsUnderEachPolicy(String policy, String expected) {
    LogicalPlan query = TestSpark.analyzed("SELECT '7' AS p");
    LogicalPlan plan = assignment(policy, true).cast(query, columns("p INT"), false);
    assertEquals(expected, type(plan));
  }

  @Test
  void queryOfEqualTypesIsUnchanged() {
    LogicalPlan query = TestSpark.analyzed("SELECT 1 AS a, 'x' AS b");
    assertSame(query, assignment("ANSI", false).cast(query, columns("a INT, b STRING"), false));
    assertSame(query, assignment("STRICT", false).cast(query, columns("a DATE, b INT"), false));
  }

  @Test
  void columnsAreMatchedByPositionOrName() {
    LogicalPlan query = TestSpark.analyzed("SELECT '1' AS b, '2' AS A, '3' AS c");
    StoreAssignment ansi = assignment("ANSI", false);
    assertEquals(
        "struct<b:int,A:date,c:string>",
        ansi.cast(query, columns("a INT, b DATE"), false).schema().catalogString());
    assertEquals(
        "struct<b:date,A:int,c:string>",
        ansi.cast(query, columns("a INT, b DATE"), true).schema().catalogString());
    LogicalPlan struct = TestSpark.analyzed("SELECT named_struct('x', '1', 'y', '2') AS s");
    assertEquals(
        "struct<x:string,y:int>", // x has no target of that name
        type(ansi.cast(struct, columns("s STRUCT<y: INT, z: DATE>"), true)));
  }

  private static Object value(LogicalPlan plan) {
    return Dataset$.MODULE$.ofRows(TestSpark.SPARK, plan).collectAsList().get(0).get(0);
  }

  @ParameterizedTest
  @CsvSource({
    "ANSI, ' 12 ', int, 12",
    "ANSI, 2020-02-29, date, 2020-02-29",
    "LEGACY, 12, int, 12",
    "LEGACY, x, int, null",
    "LEGACY, 300, tinyint, null",
  })
  void stringBecomesAValue(String policy, String text, String type, String expected) {
    LogicalPlan plan = cast(policy, "SELECT '" + text + "' AS c", "c " + type);
    assertEquals(expected, String.valueOf(value(plan)));
  }

  @ParameterizedTest
  @CsvSource({"x, int", "2020-02-30, date", "99999999999, int", "1.5, boolean"})
  void stringThatIsNoValueFailsWithTheColumn(String text, String type) {
    LogicalPlan plan = cast("ANSI", "SELECT '" + text + "' AS c", "target " + type);
    Exception failure = assertThrows(Exception.class, () -> value(plan));
    SparkThrowable error = (SparkThrowable) failure;
    assertEquals(StoreAssignment.OBJECT_TYPE, error.getQueryContext()[0].objectType());
    assertEquals("target", error.getQueryContext()[0].objectName());
  }

  @Test
  void failedCastToNullMakesNestedTypesNullable() {
    LogicalPlan plan = cast("LEGACY", "SELECT array('1', 'x') AS c", "c ARRAY<INT>");
    assertEquals("ArrayType(IntegerType,true)", plan.output().head().dataType().toString());
    assertTrue(value(plan).toString().contains("null"));
  }
}
