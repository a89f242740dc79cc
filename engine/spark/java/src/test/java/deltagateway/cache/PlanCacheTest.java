package deltagateway.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import deltagateway.TestScans;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.TableScan;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Keys and entries of cached plans. */
@Tag("spark")
class PlanCacheTest {
  private static StatementRequest request(Consumer<ObjectNode> change) throws Exception {
    ObjectNode node = TestRequests.statement("s", "SELECT 1");
    change.accept(node);
    return new StatementRequest(node.toString());
  }

  private static String key(Consumer<ObjectNode> change) throws Exception {
    return PlanCache.key(TestSpark.SPARK, request(change));
  }

  @Test
  void keyIsThatOfAllRunsOfAQuery() throws Exception {
    String key = key(node -> {});
    assertNotNull(key);
    assertEquals(key, key(node -> node.put("id", "other").put("instant_us", 7).put("spool", "x")));
    assertNotEquals(key, key(node -> node.put("text", "SELECT 2")));
    assertNotEquals(key, key(node -> node.put("principal", "bob")));
    assertNotEquals(
        key, key(node -> node.withArray("views").add(TestRequests.view("v", "SELECT 1"))));
  }

  @Test
  void keyFollowsFromTheSettingsOfTheSession() throws Exception {
    String key = key(node -> {});
    TestSpark.SPARK.conf().set("spark.sql.caseSensitive", "true");
    try {
      assertNotEquals(key, key(node -> {}));
    } finally {
      TestSpark.SPARK.conf().unset("spark.sql.caseSensitive");
    }
    assertEquals(key, key(node -> {}));
  }

  @Test
  void queriesThatMustNotBeCachedHaveNoKey() throws Exception {
    assertNotNull(key(node -> {}));
    assertNull(key(node -> node.put("text", "SELECT '" + "x".repeat(100_000) + "'")));
  }

  @Test
  void writeKeyHasTheTargetAndMayLeaveOutSizes() throws Exception {
    StatementRequest request = request(node -> {});
    String key = PlanCache.writeKey(TestSpark.SPARK, request, "target", false);
    assertNotEquals(key, PlanCache.writeKey(TestSpark.SPARK, request, "other", false));
    assertNotEquals(key, PlanCache.key(TestSpark.SPARK, request));
    assertEquals(
        PlanCache.columnsKey(TestSpark.SPARK, request), PlanCache.key(TestSpark.SPARK, request));
  }

  @Test
  void columnsAreCachedUpToTheirSize() {
    PlanCache cache = new PlanCache();
    cache.putColumns("a", new byte[] {1});
    cache.putColumns("b", new byte[(16 << 10) + 1]);
    assertArrayEquals(new byte[] {1}, cache.columns("a"));
    assertNull(cache.columns("b"));
  }

  @Test
  void leastRecentlyUsedPlanIsRemoved() {
    PlanCache cache = new PlanCache();
    LogicalPlan plan = TestSpark.analyzed("SELECT 1");
    for (int i = 0; i < 200; i++) cache.put("k" + i, "", plan, plan, plan);
    cache.get("k0");
    cache.put("more", "", plan, plan, plan);
    assertNotNull(cache.get("k0"));
    assertNull(cache.get("k1"));
    assertNotNull(cache.get("k2"));
    cache.putWrite("w", plan);
    assertNotNull(cache.write("w"));
    assertNull(cache.write("x"));
  }

  private static PrunedFileIndex index(String statement, String relation) {
    StatementRequest.Scan scan =
        TestScans.scan(Path.of("/t"), "a INT", node -> node.put("relation", relation));
    return new PrunedFileIndex(
        statement, scan, new FileListing(null, statement, 0, scan.constants, "UTC"));
  }

  private static PrunedFileIndex files(LogicalPlan plan) {
    LogicalRelation leaf = (LogicalRelation) plan.collectLeaves().head();
    return (PrunedFileIndex) ((HadoopFsRelation) leaf.relation()).location();
  }

  @Test
  void cachedPlanHasNoFilesUntilItRuns() {
    LogicalPlan plan = new TableScan(TestSpark.SPARK, index("statement-1", "t")).relation();
    PlanCache cache = new PlanCache();
    PlanCache.Kept entry = cache.put("k", "", plan, plan, plan);
    assertEquals("", files(entry.optimized).statementId());
    assertSame(entry, cache.get("k"));
    PrunedFileIndex own = index("statement-2", "t");
    LogicalPlan placed =
        new PlanCache.Placing(TestSpark.SPARK, Map.of("t", own)).over(entry.optimized);
    assertSame(own, files(placed));
    assertEquals(plan.output(), placed.output());
    assertThrows(
        IllegalStateException.class,
        () -> new PlanCache.Placing(TestSpark.SPARK, Map.of()).over(entry.optimized));
  }

  @Test
  void planOverOtherLeavesHasNoCachedRun() {
    var execution = TestSpark.SPARK.range(3).queryExecution();
    assertNull(CachedPlan.of(execution.executedPlan(), execution.toRdd(), Map.of(), 7L));
    PlanCache cache = new PlanCache();
    LogicalPlan plan = TestSpark.analyzed("SELECT 1");
    PlanCache.Kept entry = cache.put("k", "", plan, plan, plan);
    cache.keepRun(entry, null);
    assertNull(cache.again(entry, Map.of()));
  }
}
