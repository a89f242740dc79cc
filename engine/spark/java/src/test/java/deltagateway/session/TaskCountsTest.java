package deltagateway.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Numbers of jobs and tasks, and the plans that were executed. */
@Tag("spark")
class TaskCountsTest {
  private static final SparkContext CONTEXT = TestSpark.SPARK.sparkContext();
  private final TaskCounts tasks = new TaskCounts();
  private final ExecutedPlans plans = new ExecutedPlans();

  @BeforeEach
  void listen() {
    CONTEXT.addSparkListener(tasks);
    CONTEXT.addSparkListener(plans);
  }

  @AfterEach
  void stop() {
    CONTEXT.removeSparkListener(tasks);
    CONTEXT.removeSparkListener(plans);
    CONTEXT.clearJobGroup();
  }

  private void run(String id, String text) throws Exception {
    CONTEXT.setJobGroup(id, id, false);
    TestSpark.SPARK.sql(text).collectAsList();
    CONTEXT.listenerBus().waitUntilEmpty(60_000);
  }

  private ObjectNode totals() {
    ObjectNode totals = StatementRequest.JSON.createObjectNode();
    tasks.putTotals(totals);
    return totals;
  }

  @Test
  void tasksOfARunningStatementAreCounted() throws Exception {
    tasks.begin("counted");
    run("counted", "SELECT count(*) FROM range(0, 10, 1, 3)");
    assertEquals(
        "{\"counted\":{\"total\":4,\"running\":0,\"done\":4,\"failed\":0}}",
        tasks.tasksOf("counted", "other").toString());
    assertTrue(tasks.isRunning("counted"));
    tasks.end("counted");
    assertFalse(tasks.isRunning("counted"));
    assertEquals("{}", tasks.tasksOf("counted").toString());
  }

  @Test
  void jobsOfAFollowedStatementAreReturnedOnce() throws Exception {
    tasks.follow("followed");
    run("other", "SELECT count(*) FROM range(10)");
    run("followed", "SELECT sum(id) FROM range(0, 10, 1, 2)");
    ArrayNode jobs = tasks.jobs("followed");
    assertTrue(jobs.size() > 0);
    int ended = 0;
    for (JsonNode job : jobs) {
      assertEquals(7, job.size());
      assertTrue(job.get("has_succeeded").booleanValue());
      assertTrue(job.get("began_ms").longValue() <= job.get("ended_ms").longValue());
      ended += job.get("tasks").intValue();
    }
    assertEquals(3, ended);
    assertEquals(0, tasks.jobs("followed").size());
    assertEquals(0, tasks.jobs("other").size());
  }

  @Test
  void failedTasksAndJobsAreCounted() throws Exception {
    tasks.begin("failing");
    tasks.follow("failing");
    assertThrows(
        Exception.class, () -> run("failing", "SELECT 1 / (id - id) FROM range(0, 4, 1, 1)"));
    CONTEXT.listenerBus().waitUntilEmpty(60_000);
    JsonNode job = tasks.jobs("failing").get(0);
    assertFalse(job.get("has_succeeded").booleanValue());
    assertEquals(1, job.get("failed_tasks").intValue());
    assertEquals(1, tasks.tasksOf("failing").at("/failing/failed").intValue());
    ObjectNode totals = totals();
    assertEquals(1, totals.get("jobs_failed").intValue());
    assertEquals(1, totals.get("tasks_failed").intValue());
    assertEquals(0, totals.get("jobs_running").intValue() + totals.get("tasks_running").intValue());
  }

  @Test
  void executedPlanHasOperatorsAndMetrics() throws Exception {
    run("planned", "SELECT id % 2, count(*) FROM range(0, 100, 1, 2) GROUP BY 1");
    var store = TestSpark.SPARK.sharedState().statusStore();
    JsonNode executed = StatementRequest.JSON.readTree(plans.json(store, "planned", null));
    assertEquals(1, executed.size());
    assertTrue(executed.at("/0/nodes").findValuesAsText("name").contains("Range"));
    assertTrue(executed.at("/0/edges").size() > 0);
    assertTrue(executed.at("/0/nodes").findValuesAsText("value").size() > 0);
    assertEquals("[]", plans.json(store, "unknown", null));
  }
}
