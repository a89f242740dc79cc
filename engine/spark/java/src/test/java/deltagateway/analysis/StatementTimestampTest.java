package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import deltagateway.TestSpark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Functions of the current time at a statement's time. */
@Tag("spark")
class StatementTimestampTest {
  // 2024-02-29T23:30:01.500002Z
  private static final long MICROS = 1_709_249_401_500_002L;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "current_timestamp() | 2024-02-29 23:30:01.500002",
        "now() | 2024-02-29 23:30:01.500002",
        "current_date() | 2024-02-29",
        "localtimestamp() | 2024-02-29 23:30:01.500002",
        "current_time(6) | 23:30:01.500002",
        "current_time(1) | 23:30:01.5",
        "date_add(current_date(), 1) | 2024-03-01",
        "(SELECT max(current_date()) FROM range(3)) | 2024-02-29",
      })
  void functionHasTheStatementsTime(String expression, String expected) {
    LogicalPlan plan = TestSpark.analyzed("SELECT string(" + expression + ")");
    LogicalPlan fixed = new StatementTimestamp(MICROS).fix(plan);
    assertEquals(expected, Dataset$.MODULE$.ofRows(TestSpark.SPARK, fixed).head().get(0));
  }

  @Test
  void timeBeforeTheEpochHasItsMicroseconds() {
    LogicalPlan plan =
        TestSpark.analyzed("SELECT string(localtimestamp()), string(current_date())");
    LogicalPlan fixed = new StatementTimestamp(-1).fix(plan);
    assertEquals(
        "[1969-12-31 23:59:59.999999,1969-12-31]",
        Dataset$.MODULE$.ofRows(TestSpark.SPARK, fixed).head().toString());
  }

  @Test
  void planWithoutSuchFunctionsIsUnchanged() {
    LogicalPlan plan = TestSpark.analyzed("SELECT id, rand() FROM range(3)");
    assertSame(plan, new StatementTimestamp(MICROS).fix(plan));
  }
}
