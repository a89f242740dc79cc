package deltagateway.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.ExceptionDetails;
import deltagateway.protocol.StatementRequest;
import java.util.Map;
import org.apache.spark.SparkException;
import org.apache.spark.sql.classic.SparkSession$;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Errors of queries whose stages were cancelled because a subquery failed. */
@Tag("spark")
class SubqueryFailuresTest {
  private static final String QUERY =
      "SELECT id FROM range(9) WHERE id = (SELECT max(1 / (id - %d)) FROM range(9))";

  @BeforeEach
  void setSession() {
    SparkSession$.MODULE$.setActiveSession(TestSpark.SPARK);
  }

  private static StatementQueryExecution query(String text) {
    return new StatementQueryExecution(TestSpark.SPARK, TestSpark.parsed(text));
  }

  private static SparkException cancelled() {
    Map<String, String> parameters = Map.of("jobId", "1", "reason", "another stage failed");
    return new SparkException("SPARK_JOB_CANCELLED", ScalaConversions.map(parameters), null);
  }

  private static String conditionOf(StatementQueryExecution query) throws Exception {
    Throwable failure =
        assertThrows(
            Exception.class,
            () ->
                SubqueryFailures.execute(
                    query,
                    ScalaConversions.function(
                        () -> {
                          throw cancelled();
                        })));
    return StatementRequest.JSON
        .readTree(ExceptionDetails.describe(failure))
        .get("condition")
        .textValue();
  }

  @Test
  void errorOfASubqueryReplacesACancellation() throws Exception {
    assertEquals("DIVIDE_BY_ZERO", conditionOf(query(QUERY.formatted(3))));
  }

  @Test
  void cancellationIsReportedIfNoSubqueryFailed() throws Exception {
    assertEquals("SPARK_JOB_CANCELLED", conditionOf(query(QUERY.formatted(10))));
  }
}
