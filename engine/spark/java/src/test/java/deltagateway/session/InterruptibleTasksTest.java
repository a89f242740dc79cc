package deltagateway.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.internals.TreeVisitor;
import deltagateway.protocol.StatementRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.execution.SparkPlan;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks in physical plans that end killed tasks. */
@Tag("spark")
@Timeout(120)
class InterruptibleTasksTest {
  private static final Rule<SparkPlan> RULE = new InterruptibleTasks().postColumnarTransitions();

  /** A physical plan takes the session from the thread that creates it. */
  @BeforeEach
  void setSession() {
    SparkSession$.MODULE$.setActiveSession(TestSpark.SPARK);
  }

  private static SparkPlan planned(String text) {
    StatementQueryExecution query =
        new StatementQueryExecution(TestSpark.SPARK, TestSpark.parsed(text));
    query.disableAdaptiveExecution();
    return query.sparkPlan();
  }

  private static int count(SparkPlan plan, Class<?> type) {
    var counter =
        new TreeVisitor() {
          int count;

          @Override
          public void visit(TreeNode<?> node) {
            if (type.isInstance(node)) count++;
            visitFields(node);
          }
        };
    counter.visit(plan);
    return counter.count;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT id FROM range(3) | 1",
        "SELECT id FROM range(3) ORDER BY id | 2",
        "SELECT max(id) FROM range(3) | 1",
        "SELECT id % 2, max(id) FROM range(3) GROUP BY 1 | 3",
        "SELECT explode(array(id)) FROM range(3) | 2",
        "SELECT * FROM range(3) a, range(3) b | 3",
        "SELECT sum(id) OVER (ORDER BY id) FROM range(3) | 2",
        "SELECT * FROM VALUES (1), (2) | 0",
      })
  void operatorsThatProduceRowsHaveChecks(String text, int checks) {
    SparkPlan plan = planned(text);
    assertEquals(0, count(plan, InterruptibleRowsExec.class));
    SparkPlan checked = RULE.apply(plan);
    assertEquals(checks, count(checked, InterruptibleRowsExec.class), checked.toString());
    assertEquals(plan.schema(), checked.schema());
    assertEquals(checks, count(RULE.apply(checked), InterruptibleRowsExec.class));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT transform(array(id), x -> x + 1) FROM range(3) | 1",
        "SELECT transform(array(id), x -> aggregate(array(x), 0L, (a, b) -> a + b)) FROM range(3)"
            + " | 3",
        "SELECT id + 1 FROM range(3) | 0",
      })
  void lambdaFunctionsHaveChecks(String text, int checks) {
    SparkPlan checked = RULE.apply(planned(text));
    assertEquals(checks, count(checked, InterruptibleExpression.class), checked.toString());
    assertEquals(checks, count(RULE.apply(checked), InterruptibleExpression.class));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT id FROM range(0, 100, 1, 1)",
        "SELECT sort_array(transform(sequence(0, 99), x -> x * 2)) FROM range(0, 1, 1, 1)",
        "SELECT aggregate(sequence(0, 999), 0, (a, b) -> a + b) FROM range(0, 3, 1, 1)",
      })
  void checksDoNotChangeRows(String text) {
    SparkPlan plan = planned(text);
    assertEquals(rows(plan), rows(RULE.apply(planned(text))));
  }

  private static String rows(SparkPlan plan) {
    return java.util.Arrays.toString(plan.executeCollectPublic());
  }

  @Test
  void expressionIsThatOfItsChild() {
    var child = TestSpark.condition("id + 1 > 2", "range(3)");
    InterruptibleExpression checked = new InterruptibleExpression(child);
    assertEquals(child.sql(), checked.sql());
    assertEquals(child.toString(), checked.toString());
    assertEquals(child.dataType(), checked.dataType());
    assertEquals(child.nullable(), checked.nullable());
    assertEquals(child.foldable(), checked.foldable());
    assertEquals(new InterruptibleExpression(child), checked);
    assertEquals(new InterruptibleExpression(child).hashCode(), checked.hashCode());
    assertSame(child, checked.productElement(0));
    InterruptibleExpression.killTaskIfInterrupted(); // no task of this thread
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT id FROM range(0, 1000000000000, 1, 1) WHERE id < 0",
        "SELECT aggregate(sequence(0L, 2000000L), 0L, (a, b) -> a +"
            + " length(sha2(sha2(sha2(string(b), 512), 512), 512)))"
            + " FROM range(0, 1, 1, 1)",
      })
  void killedTaskEndsWithinOneRow(String text) throws Exception {
    SparkContext context = TestSpark.SPARK.sparkContext();
    TaskCounts tasks = new TaskCounts();
    context.addSparkListener(tasks);
    try {
      SparkPlan plan = RULE.apply(planned(text));
      CompletableFuture<Object> running =
          CompletableFuture.supplyAsync(
              () -> {
                context.setJobGroup("killed", "", false);
                return plan.executeCollectPublic();
              });
      while (tasksRunning(tasks) == 0 && !running.isDone()) Thread.sleep(10);
      context.cancelJobGroup("killed");
      Throwable failure = assertThrows(ExecutionException.class, running::get).getCause();
      assertTrue(failure.getMessage().contains("cancelled"), failure.getMessage());
      while (tasksRunning(tasks) > 0) Thread.sleep(10);
    } finally {
      context.removeSparkListener(tasks);
    }
  }

  private static int tasksRunning(TaskCounts tasks) {
    ObjectNode totals = StatementRequest.JSON.createObjectNode();
    tasks.putTotals(totals);
    return totals.get("tasks_running").intValue();
  }
}
