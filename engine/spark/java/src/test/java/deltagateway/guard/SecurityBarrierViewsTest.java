package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Barriers above the rows of views whose tables the reader may not read. */
@Tag("spark")
class SecurityBarrierViewsTest {
  @BeforeAll
  static void createViews() {
    name("barrier_view", "SELECT id, string(id) AS name, coalesce(id, 0) AS half FROM range(10)");
    name("failing_view", "SELECT id, 10 / id AS ratio FROM range(10) WHERE 1 / id < 1");
  }

  private static void name(String view, String text) {
    TestSpark.name(view, SecurityBarrierViews.mark(TestSpark.analyzed(text)));
  }

  private static boolean hasBarrier(String text) {
    LogicalPlan settled = SecurityBarrierViews.removeUnneeded(TestSpark.analyzed(text));
    return has(settled);
  }

  private static boolean has(LogicalPlan plan) {
    if (SecurityBarrierViews.isMarked(plan)) return true;
    return ScalaConversions.list(plan.children()).stream().anyMatch(SecurityBarrierViewsTest::has)
        || ScalaConversions.list(plan.subqueries()).stream()
            .anyMatch(SecurityBarrierViewsTest::has);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM barrier_view",
        "SELECT 1 / id FROM barrier_view",
        "SELECT int(name) FROM barrier_view ORDER BY 1 LIMIT 3",
        "SELECT id FROM barrier_view WHERE id = 3",
        "SELECT id FROM barrier_view WHERE id IN (1, 2) AND NOT name IS NULL OR half > 1",
        "SELECT id FROM barrier_view WHERE name LIKE 'a%' AND length(upper(name)) = 1",
        "SELECT id FROM barrier_view WHERE bigint(3) = id AND double(id) < 5",
        "SELECT id FROM barrier_view WHERE id = 1 + 2",
        "SELECT sum(1 / id) FROM barrier_view WHERE id > 3 GROUP BY name",
        "SELECT v.id FROM barrier_view v JOIN barrier_view w ON v.id = w.id",
        "SELECT id FROM barrier_view WHERE id IN (SELECT id FROM barrier_view)",
        "SELECT id FROM failing_view",
        "SELECT ratio FROM failing_view",
      })
  void barrierIsRemovedIfNothingMayFail(String text) {
    assertTrue(has(TestSpark.analyzed(text)));
    assertFalse(hasBarrier(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT id FROM barrier_view WHERE 1 / id > 0",
        "SELECT id FROM barrier_view WHERE int(name) > 0",
        "SELECT id FROM barrier_view WHERE id = 3 AND int(id) > 0",
        "SELECT id FROM barrier_view WHERE name LIKE name",
        "SELECT id FROM barrier_view WHERE name RLIKE '1'",
        "SELECT id FROM barrier_view WHERE id = 1 / 0",
        "SELECT 1 / id AS x FROM barrier_view WHERE id > 0",
        "SELECT v.id FROM barrier_view v JOIN barrier_view w ON v.id = 1 / w.id",
        "SELECT name FROM barrier_view GROUP BY name HAVING int(name) > 1",
        "SELECT id FROM barrier_view WHERE id IN (SELECT 1 / id FROM range(3))",
        "SELECT id FROM barrier_view v WHERE id = (SELECT w.id FROM range(3) w WHERE w.id = v.id"
            + " ORDER BY 1 LIMIT 1)",
        "SELECT id FROM failing_view WHERE ratio > 1",
        "SELECT id FROM barrier_view WHERE raise_error(name) IS NULL",
      })
  void barrierStaysIfAConditionMayFail(String text) {
    assertTrue(hasBarrier(text));
  }

  @Test
  void queryWithoutViewsIsUnchanged() {
    LogicalPlan plan = TestSpark.analyzed("SELECT id FROM range(3) WHERE 1 / id > 0");
    assertSame(plan, SecurityBarrierViews.removeUnneeded(plan));
  }

  @Test
  void sampleOfAQueryIsNoBarrier() {
    for (String text :
        TestSpark.words("100_PERCENT 50_PERCENT 3_ROWS").stream()
            .map(
                size ->
                    "SELECT * FROM (SELECT * FROM range(3)) TABLESAMPLE ("
                        + size.replace('_', ' ')
                        + ")")
            .toList()) assertFalse(has(TestSpark.analyzed(text)), text);
    LogicalPlan rows =
        TestSpark.analyzed("SELECT * FROM (SELECT * FROM range(3)) TABLESAMPLE (100 PERCENT)");
    assertTrue(has(SecurityBarrierViews.mark(rows)));
  }

  /** Returns a lateral join whose right side is the rows of a call, as bodies are inlined. */
  private static LateralJoin lateral(String join) {
    LogicalPlan plan = TestSpark.parsed("SELECT * FROM t " + join);
    while (!(plan instanceof LateralJoin)) plan = plan.children().head();
    return (LateralJoin)
        plan.transformUpWithSubqueries(
            ScalaConversions.<LogicalPlan>rewrite(
                node ->
                    node instanceof UnresolvedTableValuedFunction
                        ? SecurityBarrierViews.mark(TestSpark.analyzed("SELECT id FROM range(3)"))
                        : node));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ", LATERAL f(t.id)",
        "CROSS JOIN LATERAL f(t.id) AS r",
        "LEFT JOIN LATERAL f(t.id) AS r(x)",
        "LEFT JOIN LATERAL f(t.id) AS r ON true",
      })
  void barrierOfALateralCallIsAboveItsJoin(String join) {
    LogicalPlan plan = SecurityBarrierViews.aroundLateral(lateral(join));
    assertTrue(SecurityBarrierViews.isAroundLateral(plan));
    LateralJoin inner = (LateralJoin) ((Sample) plan).child();
    assertFalse(has(inner.right().plan()));
    assertTrue(inner.condition().isEmpty());
  }

  @Test
  void conditionOfAnInnerLateralJoinIsAboveTheBarrier() {
    LogicalPlan plan =
        SecurityBarrierViews.aroundLateral(lateral("JOIN LATERAL f(t.id) AS r ON r.id = 1"));
    Filter filter = (Filter) plan;
    assertEquals("(r.id = 1)", filter.condition().sql().replace("`", ""));
    assertTrue(SecurityBarrierViews.isAroundLateral(filter.child()));
  }

  @Test
  void conditionOfAnOuterLateralJoinIsRejected() {
    LateralJoin join = lateral("LEFT JOIN LATERAL f(t.id) AS r ON r.id = 1");
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> SecurityBarrierViews.aroundLateral(join));
    assertEquals("lateral condition", rejection.kind());
  }

  @ParameterizedTest
  @CsvSource({"', LATERAL (SELECT t.id)'", "', LATERAL (SELECT id FROM (SELECT 1 AS id))'"})
  void lateralSubqueryIsUnchanged(String join) {
    LateralJoin plan = lateral(join);
    assertSame(plan, SecurityBarrierViews.aroundLateral(plan));
  }
}
