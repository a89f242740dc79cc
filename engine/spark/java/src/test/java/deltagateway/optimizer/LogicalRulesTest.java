package deltagateway.optimizer;

import static deltagateway.optimizer.TestTables.estimated;
import static deltagateway.optimizer.TestTables.nodes;
import static deltagateway.optimizer.TestTables.optimized;
import static deltagateway.optimizer.TestTables.with;
import static deltagateway.optimizer.TestTables.without;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.MakeDecimal;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules on logical plans: the plan with and without each rule. */
@Tag("spark")
class LogicalRulesTest {
  private static final long LARGE = 100L << 20;

  /** Rows of the table `facts` in the log, which has a few. */
  private static final long MANY_ROWS = 1_000_000;

  private static TestTables facts;
  private static TestTables parts;

  @BeforeAll
  static void writeTables() {
    facts =
        TestTables.table(
                "facts",
                "SELECT id, id % 20 AS part, date_add(DATE'2024-01-01', int(id)) AS day,"
                    + " cast(id AS DECIMAL(12,2)) AS price, string(id) AS word FROM range(200)",
                LARGE)
            .withStatistic("rows", MANY_ROWS);
    parts =
        TestTables.table(
            "parts",
            "SELECT id AS part, concat('p', id) AS name, id % 3 AS size FROM range(20)",
            0);
  }

  private static String in(String column, int values) {
    return IntStream.range(0, values)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(", ", column + " IN (", ")"));
  }

  @Nested
  class LargeInListsRule {
    @Test
    void listOfManyLiteralsIsASetOfValuesAfterAnalysis() {
      LogicalPlan analyzed =
          TestTables.query("SELECT * FROM facts WHERE " + in("id", 1000)).analyzed();
      assertEquals(1000, nodes(analyzed, InSet.class).get(0).hset().size());
      assertEquals(List.of(), nodes(analyzed, In.class));
      assertEquals(List.of(), nodes(analyzed, OpaqueIn.class));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM facts WHERE %s", // one literal less than the minimum
          "SELECT %s FROM facts", // no condition
          "SELECT * FROM facts WHERE %s OR id IN (part, 1)"
        })
    void listIsKeptOutsideConditionsAndBelowTheMinimum(String text) {
      LogicalPlan analyzed = TestTables.query(text.formatted(in("id", 999))).analyzed();
      assertFalse(nodes(analyzed, In.class).isEmpty());
      assertEquals(List.of(), nodes(analyzed, InSet.class));
    }

    @Test
    void listIsKeptWithoutTheRule() {
      String text = "SELECT * FROM facts WHERE " + in("id", 1000);
      LogicalPlan analyzed =
          without(OptimizerRule.LARGE_IN_LISTS, () -> TestTables.query(text).analyzed());
      assertEquals(1, nodes(analyzed, In.class).size());
    }

    @Test
    void valuesHaveTheTypeInWhichSparkComparesThem() {
      LogicalPlan analyzed =
          TestTables.query("SELECT * FROM facts WHERE " + in("id", 1000)).analyzed();
      assertTrue(nodes(analyzed, InSet.class).get(0).hset().contains(999L));
    }

    @Test
    void valueThatFailsItsCastLeavesTheListToSpark() {
      String list = in("word", 1000).replace("IN (0,", "IN (0, DATE'2024-01-01',");
      String text = "SELECT * FROM facts WHERE " + list;
      var failure = assertThrows(AnalysisException.class, () -> TestTables.query(text).analyzed());
      assertTrue(failure.getCondition().startsWith("DATATYPE_MISMATCH"), failure.getCondition());
    }
  }

  @Nested
  class UnscaledDecimalAggregatesRule {
    private static LogicalPlan rewritten(LogicalPlan plan) {
      return new UnscaledDecimalAggregates(new RemainingFiles(plan)).apply(plan);
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "sum(price)",
          "sum(price + 1)",
          "sum(-price)",
          "sum(abs(price))",
          "sum(price * 2)",
          "sum(if(id > 3, price, 0))",
          "sum(coalesce(price, 1))",
          "sum(CASE WHEN id = 1 THEN price WHEN id = 2 THEN -price END)",
          "sum(price) FILTER (WHERE id > 3)"
        })
    void sumWithinTheBoundsIsOneOfLongs(String sum) {
      LogicalPlan plan = optimized("SELECT " + sum + " FROM facts");
      LogicalPlan rewritten = rewritten(plan);
      assertEquals(1, nodes(rewritten, MakeDecimal.class).size());
      assertEquals(plan.schema(), rewritten.schema());
    }

    @Test
    void sumThatMayExceedALongIsSplit() {
      facts.withBounds("price", "-9000000000.00", "9000000000.00");
      try {
        // Other filters make another request for the statistics.
        LogicalPlan plan = optimized("SELECT sum(price * 1000) FROM facts WHERE id > 5");
        assertEquals(1, nodes(rewritten(plan), StaticInvoke.class).size());
      } finally {
        facts.withBounds("price", "0.00", "199.00");
      }
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "sum(DISTINCT price)",
          "max(price)",
          "sum(id)",
          "sum(price / 3)",
          "sum(cast(price AS DECIMAL(30,10)) * cast(price AS DECIMAL(30,10)))",
          "sum(double(price))"
        })
    void otherAggregatesStay(String aggregate) {
      LogicalPlan plan = optimized("SELECT " + aggregate + " FROM facts");
      assertSame(plan, rewritten(plan));
    }

    @Test
    void averageIsOfASumOfLongsAndACount() {
      LogicalPlan plan = optimized("SELECT avg(price) FROM facts");
      assertEquals(1, nodes(rewritten(plan), MakeDecimal.class).size());
      assertEquals(plan.schema(), rewritten(plan).schema());
    }

    @Test
    void planStaysWithoutTheRule() {
      LogicalPlan plan = optimized("SELECT sum(price) FROM facts");
      assertSame(plan, without(OptimizerRule.UNSCALED_DECIMAL_AGGREGATES, () -> rewritten(plan)));
    }

    @Test
    void onlyArithmeticErrorsMayComeFromTheRule() {
      assertTrue(UnscaledDecimalAggregates.failed(new ArithmeticException("long overflow")));
      assertTrue(
          UnscaledDecimalAggregates.failed(
              new IllegalStateException(new ArithmeticException("long overflow"))));
      assertFalse(UnscaledDecimalAggregates.failed(new IllegalStateException("another")));
    }
  }

  @Nested
  class SemiJoinReductionRule {
    private static final String GROUPS =
        "(SELECT part, min(price) AS low FROM facts GROUP BY part) g";

    private static LogicalPlan reduced(LogicalPlan plan) {
      return with(
          Map.of("spark.sql.cbo.enabled", "true"),
          () -> new SemiJoinReduction(10L << 20).apply(plan));
    }

    private static long semiJoins(LogicalPlan plan) {
      return nodes(plan, Join.class).stream()
          .filter(join -> join.joinType() == LeftSemi$.MODULE$)
          .count();
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM parts p JOIN " + GROUPS + " ON p.part = g.part WHERE p.name = 'p3'",
          "SELECT * FROM " + GROUPS + " JOIN parts p ON p.part = g.part WHERE p.name LIKE '%3%'",
          "SELECT * FROM parts p LEFT JOIN " + GROUPS + " ON p.part = g.part WHERE p.size = 1"
        })
    void groupsAreOfTheRowsWithTheKeysOfTheOtherSide(String text) {
      LogicalPlan plan = estimated(text);
      LogicalPlan reduced = reduced(plan);
      assertEquals(0, semiJoins(plan));
      assertEquals(1, semiJoins(reduced));
      assertEquals(plan.schema(), reduced.schema());
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM parts p JOIN " + GROUPS + " ON p.part = g.part", // without a filter
          "SELECT * FROM parts p RIGHT JOIN " + GROUPS + " ON p.part = g.part AND p.size = 1",
          "SELECT * FROM parts p JOIN " + GROUPS + " ON p.part = g.low WHERE p.size = 1",
          "SELECT * FROM parts p JOIN facts f ON p.part = f.part WHERE p.size = 1" // no groups
        })
    void otherJoinsStay(String text) {
      LogicalPlan plan = estimated(text);
      assertSame(plan, reduced(plan));
    }

    @Test
    void scanAboveTheThresholdOfBroadcastsReducesNothing() {
      LogicalPlan plan =
          estimated("SELECT * FROM parts p JOIN " + GROUPS + " ON p.part = g.part WHERE size = 2");
      assertSame(plan, new SemiJoinReduction(1).apply(plan));
    }

    @Test
    void planStaysWithoutTheRule() {
      LogicalPlan plan =
          estimated("SELECT * FROM parts p JOIN " + GROUPS + " ON p.part = g.part WHERE size = 0");
      assertSame(
          plan,
          with(
              Map.of(
                  "spark.sql.cbo.enabled",
                  "true",
                  OptimizerRule.SEMI_JOIN_REDUCTION.key(),
                  "false"),
              () -> new SemiJoinReduction(10L << 20).apply(plan)));
    }
  }

  @Nested
  class BroadcastSelectionRule {
    private static final String JOIN = "SELECT * FROM facts f JOIN parts p ON f.part = p.part";

    private static boolean hints(LogicalPlan plan, long filesMax, long broadcastMax) {
      var rule = new BroadcastSelection(new RemainingFiles(plan), filesMax, broadcastMax);
      LogicalPlan selected = with(Map.of("spark.sql.cbo.enabled", "true"), () -> rule.apply(plan));
      return nodes(selected, Join.class).stream().anyMatch(join -> !join.hint().isEmpty());
    }

    @Test
    void sideWithSmallFilesIsBroadcastAlthoughItsEstimateIsLarger() {
      assertTrue(hints(estimated(JOIN), 10L << 20, 1));
    }

    @Test
    void sideThatSparkBroadcastsNeedsNoHint() {
      assertFalse(hints(estimated(JOIN), 10L << 20, 10L << 20));
    }

    @Test
    void largeFilesAreNotBroadcast() {
      assertFalse(hints(estimated(JOIN), 1, 1));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT /*+ MERGE(p) */ * FROM facts f JOIN parts p ON f.part = p.part",
          "SELECT * FROM facts f JOIN parts p ON f.part > p.part",
          "SELECT * FROM facts f FULL JOIN parts p ON f.part = p.part"
        })
    void joinsWithHintsOrWithoutABroadcastSideStay(String text) {
      LogicalPlan plan = estimated(text);
      var rule = new BroadcastSelection(new RemainingFiles(plan), 10L << 20, 1);
      assertSame(plan, with(Map.of("spark.sql.cbo.enabled", "true"), () -> rule.apply(plan)));
    }
  }

  @Nested
  class ScanStatisticsRule {
    private static final String JOIN = "SELECT * FROM facts f JOIN parts p ON f.part = p.part";

    @Test
    void relationHasTheRowsOfTheLogIfJoinsArePlannedByCost() {
      var relations = nodes(estimated(JOIN), EstimatedRelation.class);
      assertEquals(2, relations.size());
      assertEquals(
          scala.math.BigInt.apply(MANY_ROWS), relations.get(0).computeStats().rowCount().get());
    }

    @Test
    void relationIsPlainWithoutPlanningByCost() {
      LogicalPlan plan = with(Map.of("spark.sql.cbo.enabled", "false"), () -> optimized(JOIN));
      assertEquals(List.of(), nodes(plan, EstimatedRelation.class));
    }

    @Test
    void relationIsPlainWithoutTheRule() {
      LogicalPlan plan =
          with(
              Map.of("spark.sql.cbo.enabled", "true", OptimizerRule.SCAN_STATISTICS.key(), "false"),
              () -> optimized(JOIN));
      assertEquals(List.of(), nodes(plan, EstimatedRelation.class));
    }

    @Test
    void filterWithUnknownSelectivityLeavesTheSizeOfAllRows() {
      LogicalPlan plan = estimated(JOIN + " WHERE f.word LIKE '%1%'");
      var statistics = nodes(plan, EstimatedRelation.class).get(0).computeStats();
      assertTrue(statistics.rowCount().isEmpty());
      assertTrue(statistics.sizeInBytes().toDouble() > MANY_ROWS);
    }

    @Test
    void boundsOfComparedColumnsServeTheOrderOfJoinsOnly() {
      LogicalPlan plan = estimated(JOIN + " WHERE f.id < f.part");
      LogicalPlan after = ScanStatistics.forBroadcasts(plan);
      long before = bounded(nodes(plan, EstimatedRelation.class).get(0));
      assertEquals(before - 1, bounded(nodes(after, EstimatedRelation.class).get(0)));
    }

    private static long bounded(EstimatedRelation relation) {
      return relation.computeStats().attributeStats().values().count(s -> s.min().isDefined());
    }
  }

  @Nested
  class LimitPruningRule {
    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM facts LIMIT 3",
          "SELECT id + 1 FROM facts LIMIT 3",
          "SELECT * FROM facts WHERE id > 7 LIMIT 3"
        })
    void limitWithoutAnOrderPrunesFiles(String text) {
      LimitPruning pruning = LimitPruning.of(optimized(text));
      assertNotNull(pruning);
      assertFalse(pruning.hasPrunedFiles());
      assertFalse(pruning.mayHaveMore(0));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT * FROM facts",
          "SELECT * FROM facts LIMIT 0",
          "SELECT * FROM facts ORDER BY id LIMIT 3",
          "SELECT count(*) FROM facts GROUP BY part LIMIT 3",
          "SELECT * FROM facts WHERE word LIKE '%1%' LIMIT 3",
          "SELECT * FROM facts WHERE id > (SELECT max(size) FROM parts) LIMIT 3",
          "SELECT * FROM facts JOIN parts USING (part) LIMIT 3",
          "SELECT * FROM range(9) LIMIT 3"
        })
    void otherQueriesReadAllFiles(String text) {
      assertNull(LimitPruning.of(optimized(text)));
    }

    @Test
    void allFilesAreReadWithoutTheRule() {
      LogicalPlan plan = optimized("SELECT * FROM facts LIMIT 3");
      assertNull(without(OptimizerRule.LIMIT_PRUNING, () -> LimitPruning.of(plan)));
    }
  }

  @Nested
  class CorrelatedLimitsRule {
    @Test
    void equalityWithAnExpressionOverAnOuterColumnIsComparedWithTrue() {
      LogicalPlan analyzed =
          TestTables.query(
                  "SELECT * FROM parts p, LATERAL (SELECT f.id FROM facts f"
                      + " WHERE f.id = p.size + 1 ORDER BY f.id LIMIT 1)")
              .analyzed();
      LogicalPlan fixed = new CorrelatedLimits().apply(analyzed);
      assertFalse(analyzed.toString().contains("<=> true"));
      assertTrue(fixed.toString().contains("<=> true"), fixed.toString());
      assertSame(fixed, new CorrelatedLimits().apply(fixed));
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "SELECT (SELECT max(f.id) FROM facts f WHERE f.id = p.size + 1) FROM parts p",
          "SELECT * FROM parts p, LATERAL (SELECT f.id FROM facts f WHERE f.id = p.size LIMIT 1)",
          "SELECT id FROM facts WHERE id = part + 1 LIMIT 1"
        })
    void otherConditionsStay(String text) {
      LogicalPlan analyzed = TestTables.query(text).analyzed();
      assertSame(analyzed, new CorrelatedLimits().apply(analyzed));
    }
  }
}
