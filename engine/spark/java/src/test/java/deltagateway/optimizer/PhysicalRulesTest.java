package deltagateway.optimizer;

import static deltagateway.optimizer.TestTables.estimated;
import static deltagateway.optimizer.TestTables.nodes;
import static deltagateway.optimizer.TestTables.optimized;
import static deltagateway.optimizer.TestTables.planned;
import static deltagateway.optimizer.TestTables.with;
import static deltagateway.optimizer.TestTables.without;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.internals.ScalaConversions;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample$;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.MarkSingleTaskExecution$;
import org.apache.spark.sql.execution.exchange.EnsureRequirements;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Strategies and rules on physical plans: the plan with and without each. */
@Tag("spark")
class PhysicalRulesTest {
  private static TestTables orders;
  private static TestTables names;

  @BeforeAll
  static void writeTables() {
    orders =
        TestTables.table(
            "orders",
            "SELECT id, id % 10 AS name_id, cast(id AS DECIMAL(12,2)) AS price,"
                + " cast(id AS DECIMAL(30,2)) AS wide, string(id) AS word, id % 2 AS half"
                + " FROM range(100)",
            0,
            "half");
    names = TestTables.table("names", "SELECT id, concat('n', id) AS name FROM range(10)", 0);
  }

  @Nested
  class FullSamplesStrategy {
    private static LogicalPlan sample(double lower, double upper, boolean withReplacement) {
      return Sample$.MODULE$.apply(lower, upper, withReplacement, 1L, orders.relation);
    }

    @Test
    void sampleOfAllRowsIsPlannedAsItsChild() {
      var planned = new FullSamples().apply(sample(0, 1, false));
      assertEquals(orders.relation, assertInstanceOf(PlanLater.class, planned.head()).plan());
    }

    @ParameterizedTest
    @CsvSource({"0, 0.5, false", "0.1, 1, false", "0, 1, true"})
    void otherSamplesAreLeftToSpark(double lower, double upper, boolean withReplacement) {
      assertTrue(new FullSamples().apply(sample(lower, upper, withReplacement)).isEmpty());
    }

    @Test
    void sampleIsLeftToSparkWithoutTheRule() {
      LogicalPlan sample = sample(0, 1, false);
      assertTrue(
          without(OptimizerRule.FULL_SAMPLES, () -> new FullSamples().apply(sample)).isEmpty());
    }
  }

  @Nested
  class MixedPartitionFiltersStrategy {
    private static List<KnownNotNull> mixed(String condition) {
      SparkPlan plan = planned("SELECT * FROM orders WHERE " + condition);
      FileSourceScanExec scan = nodes(plan, FileSourceScanExec.class).get(0);
      return ScalaConversions.list(scan.dataFilters()).stream()
          .filter(KnownNotNull.class::isInstance)
          .map(KnownNotNull.class::cast)
          .toList();
    }

    @ParameterizedTest
    @ValueSource(
        strings = {"half = 1 OR id > 5", "half + id > 7", "id > 3 AND (half = 0 OR name_id = 2)"})
    void conditionOnAPartitionColumnAndAnotherOnePrunesFiles(String condition) {
      assertEquals(1, mixed(condition).size());
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "half = 1",
          "id > 5",
          "half = 1 AND id > 5",
          "half = 1 OR id > 100 * rand()",
          "half = 1 OR id > (SELECT max(id) FROM names)"
        })
    void otherConditionsStayWithSpark(String condition) {
      assertEquals(List.of(), mixed(condition));
    }

    @Test
    void conditionStaysWithSparkWithoutTheRule() {
      assertEquals(
          List.of(),
          without(OptimizerRule.MIXED_PARTITION_FILTERS, () -> mixed("half = 1 OR id > 5")));
    }
  }

  @Nested
  class UnscaledDecimalComparisonsRule {
    private static int longs(String condition) {
      SparkPlan plan = planned("SELECT * FROM orders WHERE " + condition);
      return nodes(nodes(plan, FilterExec.class).get(0).condition(), UnscaledValue.class).size();
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "price = 7 | 1",
          "price > 1.50 | 1",
          "price BETWEEN 1 AND 2 | 2",
          "price IN (1, 2, 3) | 1",
          "price <=> 3 | 1",
          "price < cast(id AS DECIMAL(12,2)) | 0",
          "wide = 7 | 0",
          "price + 1 = 7 | 0",
          "id = 7 | 0"
        })
    void columnsAreComparedWithValuesOfTheirTypeAsLongs(String condition, int count) {
      assertEquals(count, longs(condition));
    }

    @Test
    void decimalsAreComparedWithoutTheRule() {
      assertEquals(
          0, without(OptimizerRule.UNSCALED_DECIMAL_COMPARISONS, () -> longs("price = 7")));
    }

    @Test
    void filtersOfFilesStayDecimals() {
      SparkPlan plan = planned("SELECT * FROM orders WHERE price = 7");
      FileSourceScanExec scan = nodes(plan, FileSourceScanExec.class).get(0);
      assertFalse(scan.dataFilters().toString().contains("UnscaledValue"));
    }
  }

  @Nested
  class PointLookupsRule {
    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM orders WHERE id = 7",
          "SELECT word AS w FROM orders WHERE id IN (7, 8)",
          "SELECT * FROM orders WHERE word = '7' AND name_id > 3",
          "SELECT id + 1 FROM orders WHERE word = '7' ORDER BY id"
        })
    void filterByValuesIsAPointLookup(String text) {
      SparkPlan plan = planned(text);
      SparkPlan rewritten = new PointLookups().apply(plan);
      assertEquals(1, nodes(rewritten, PointLookupExec.class).size());
      assertEquals(List.of(), nodes(rewritten, FilterExec.class));
      assertEquals(plan.output(), rewritten.output());
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM orders",
          "SELECT * FROM orders WHERE id > 7",
          "SELECT * FROM orders WHERE id = 7 OR name_id > 3",
          "SELECT * FROM orders WHERE id = 7 AND upper(word) = 'A'",
          "SELECT count(*) FROM orders WHERE id = 7",
          "SELECT * FROM orders WHERE id = 7 ORDER BY word LIMIT 3",
          "SELECT * FROM orders JOIN names ON name_id = names.id WHERE orders.id = 7",
          "SELECT * FROM range(9) WHERE id = 7"
        })
    void otherPlansStay(String text) {
      SparkPlan plan = planned(text);
      assertSame(plan, new PointLookups().apply(plan));
    }

    @Test
    void planStaysWithoutTheRule() {
      SparkPlan plan = planned("SELECT * FROM orders WHERE id = 7");
      assertSame(plan, without(OptimizerRule.POINT_LOOKUPS, () -> new PointLookups().apply(plan)));
    }

    @Test
    void lookupReturnsTheRowsThatTheFilterAccepts() {
      SparkPlan plan = planned("SELECT word, id AS n FROM orders WHERE name_id = 3 AND price < 30");
      var rows = with(Map.of(), () -> new PointLookups().apply(plan).executeCollect());
      assertEquals(
          List.of("3 3", "13 13", "23 23"),
          Stream.of(rows)
              .sorted(Comparator.comparing(row -> row.getLong(1)))
              .map(row -> row.getString(0) + " " + row.getLong(1))
              .toList());
    }

    @Test
    void lookupsOfTheSameRowsAreEqual() {
      SparkPlan plan = planned("SELECT * FROM orders WHERE id = 7");
      SparkPlan one = new PointLookups().apply(plan);
      SparkPlan other = new PointLookups().apply(plan);
      assertEquals(one, other);
      assertEquals(one.hashCode(), other.hashCode());
      assertFalse(one.equals(plan));
    }
  }

  /** Returns a planned query whose scans have one partition, with the exchanges that Spark adds. */
  private static SparkPlan withExchanges(String text) {
    LogicalPlan plan = optimized(text);
    for (LogicalRelation relation : nodes(plan, LogicalRelation.class)) {
      relation.setTagValue(MarkSingleTaskExecution$.MODULE$.markTag(), true);
    }
    SparkPlan planned =
        with(
            Map.of("spark.sql.autoBroadcastJoinThreshold", "-1"),
            () -> {
              var planner = TestTables.SESSION.sessionState().planner();
              return planner.plan(plan).next();
            });
    return new EnsureRequirements(true, ScalaConversions.none()).apply(planned);
  }

  @Nested
  class SinglePartitionExchangesRule {
    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT name, count(*) FROM orders o FULL JOIN names n ON o.name_id = n.id GROUP BY 1",
          "SELECT half, count(DISTINCT id), count(DISTINCT word) FROM orders GROUP BY half",
          "SELECT id, count(*) FROM (SELECT name_id AS id FROM orders GROUP BY CUBE (name_id)"
              + " UNION ALL SELECT id FROM names) GROUP BY id",
          "SELECT half, word, count(*) FROM orders GROUP BY CUBE (half, word)"
        })
    void exchangesOfRowsInOnePartitionAreRemoved(String text) {
      SparkPlan plan = withExchanges(text);
      SparkPlan rewritten = new SinglePartitionExchanges().apply(plan);
      assertFalse(nodes(plan, ShuffleExchangeExec.class).isEmpty());
      assertEquals(List.of(), nodes(rewritten, ShuffleExchangeExec.class));
      assertEquals(plan.output(), rewritten.output());
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT /*+ REPARTITION(3) */ id FROM orders",
          "SELECT id, count(*) FROM (SELECT id FROM orders UNION ALL SELECT id FROM"
              + " range(0, 9, 1, 2)) GROUP BY id"
        })
    void otherExchangesStay(String text) {
      SparkPlan plan = withExchanges(text);
      SparkPlan rewritten = new SinglePartitionExchanges().apply(plan);
      assertEquals(1, nodes(rewritten, ShuffleExchangeExec.class).size());
    }

    @Test
    void planStaysWithoutTheRule() {
      SparkPlan plan =
          withExchanges(
              "SELECT half, count(DISTINCT id), count(DISTINCT word) FROM orders GROUP BY half");
      assertSame(
          plan,
          without(
              OptimizerRule.SINGLE_PARTITION_EXCHANGES,
              () -> new SinglePartitionExchanges().apply(plan)));
    }
  }

  @Nested
  class SingleTaskHashJoinStrategy {
    private static final String JOIN =
        "SELECT * FROM orders o JOIN names n ON o.name_id = n.id AND n.name > 'n2'";

    private static List<SparkPlan> joins(LogicalPlan plan) {
      Join join = nodes(plan, Join.class).get(0);
      var strategy = new SingleTaskHashJoin(TestTables.SESSION.sessionState().planner());
      return ScalaConversions.list(strategy.apply(join));
    }

    @Test
    void sideThatSparkWouldBroadcastIsHashed() {
      assertInstanceOf(ShuffledHashJoinExec.class, joins(optimized(JOIN)).get(0));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT /*+ MERGE(n) */ * FROM orders o JOIN names n ON o.name_id = n.id",
          "SELECT * FROM orders o JOIN names n ON o.name_id > n.id"
        })
    void joinsWithHintsOrWithoutKeysAreLeftToSpark(String text) {
      assertEquals(List.of(), joins(optimized(text)));
    }

    @Test
    void manyRowsAreLeftToSpark() {
      names.withStatistic("rows", 300_000);
      try {
        assertEquals(List.of(), joins(estimated(JOIN.replace("n2", "n4"))));
      } finally {
        names.withStatistic("rows", 10);
      }
    }

    @Test
    void joinIsLeftToSparkWithoutTheRule() {
      LogicalPlan plan = optimized(JOIN);
      assertEquals(List.of(), without(OptimizerRule.SINGLE_TASK_HASH_JOIN, () -> joins(plan)));
    }
  }

  @Nested
  class DynamicFilePruningRule {
    private static final String JOIN =
        "SELECT o.id FROM orders o JOIN names n ON o.name_id = n.id WHERE n.name IN ('n2', 'n5')";

    /** Returns the conditions that a join adds to the scan of orders while the query runs. */
    private static List<InSet> added(String text) {
      var plan =
          assertInstanceOf(AdaptiveSparkPlanExec.class, TestTables.query(text).executedPlan());
      plan.executeCollect();
      return nodes(plan.finalPhysicalPlan(), FileSourceScanExec.class).stream()
          .filter(scan -> scan.relation().dataSchema().getFieldIndex("word").isDefined())
          .flatMap(scan -> ScalaConversions.list(scan.dataFilters()).stream())
          .filter(InSet.class::isInstance)
          .map(InSet.class::cast)
          .toList();
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          JOIN,
          "SELECT id FROM orders WHERE name_id IN (SELECT id FROM names WHERE name IN ('n2', 'n5'))"
        })
    void scanHasTheBroadcastKeysAsACondition(String text) {
      List<InSet> conditions = added(text);
      assertEquals(1, conditions.size());
      assertEquals(2, conditions.get(0).hset().size());
      assertTrue(conditions.get(0).hset().contains(2L));
      assertTrue(conditions.get(0).hset().contains(5L));
    }

    @Test
    void outerJoinNeedsRowsWithoutAMatch() {
      assertEquals(
          List.of(),
          added(
              "SELECT o.id, n.name FROM orders o LEFT JOIN (SELECT * FROM names WHERE name IN"
                  + " ('n2', 'n5')) n ON o.name_id = n.id"));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "spark.sql.optimizer.dynamicPartitionPruning.enabled",
          "spark.gateway.optimizer.dynamicFilePruning.enabled"
        })
    void scanHasNoConditionWithoutTheRule(String key) {
      TestTables.SESSION.conf().set(key, "false");
      try {
        assertEquals(List.of(), added(JOIN));
      } finally {
        TestTables.SESSION.conf().unset(key);
      }
    }
  }
}
