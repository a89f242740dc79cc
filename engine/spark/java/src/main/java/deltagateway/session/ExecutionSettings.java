package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import deltagateway.internals.TreeVisitor;
import deltagateway.optimizer.BroadcastSelection;
import deltagateway.optimizer.DateGroupingKeys;
import deltagateway.optimizer.LimitPruning;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.optimizer.RemainingFiles;
import deltagateway.optimizer.ScanStatistics;
import deltagateway.optimizer.SemiJoinReduction;
import deltagateway.optimizer.UnscaledDecimalAggregates;
import deltagateway.protocol.StatementRequest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.MarkSingleTaskExecution$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * How one query runs, by what its filters leave to be read. Nothing of it changes what the query
 * answers.
 *
 * <p>- A small one runs in one task without exchanges: its scans are marked as Spark marks those of
 * single files, and rows that are all in one partition need not be exchanged for any operator. Nor
 * are they broadcast, which takes a job for each join: the task makes the hash tables itself
 * ({@link SingleTaskHashJoin}). Joins that have no keys in common and generators may make many rows
 * of few, so they keep their tasks. Larger files are read in the one task too where they are looked
 * into for a few rows, of a key say, that are joined with what is small. - Adaptive execution
 * chooses joins and partitions again while a query runs, for some milliseconds a stage. Without a
 * join it could only join partitions, of which there are few in the first place if few bytes are
 * read; and a join of a small query could only leave out files, of which there are few. - Others
 * have as many partitions in their exchanges as their bytes are worth, up to what is configured. -
 * A plan of many thousands of expressions over few bytes is not compiled as a whole, which takes
 * minutes for a CASE of 5,000 branches, and the rows a fraction of a second. - A write is planned
 * so only if one task reads and writes all its rows; others are as Spark plans them.
 *
 * <p>A session that sets the number of partitions, or adaptive execution, has what it set. The
 * settings are those of a statement (see {@link SessionSettings}), in effect on the thread that
 * plans and runs it.
 */
public final class ExecutionSettings {
  private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
  private static final String PARTITIONS = "spark.sql.shuffle.partitions";

  private static final String BROADCAST = "spark.sql.autoBroadcastJoinThreshold";

  /**
   * Spark's default, for sizes that are guessed from files. Those of estimates are of rows in
   * memory.
   */
  private static final long SPARK_BROADCAST = 10L << 20;

  /** Of those: some dozens of statements at once may each hold such a table and some more. */
  private static final long OUR_BROADCAST =
      Math.max(SPARK_BROADCAST, Math.min(32L << 20, Runtime.getRuntime().maxMemory() / 64));

  /** What Spark makes joins of. */
  private static final scala.collection.immutable.Seq JOINING =
      ScalaConversions.seq(
          Arrays.asList(
              (Object) TreePattern$.MODULE$.JOIN(),
              TreePattern$.MODULE$.EXISTS_SUBQUERY(),
              TreePattern$.MODULE$.LIST_SUBQUERY(),
              TreePattern$.MODULE$.SCALAR_SUBQUERY(),
              TreePattern$.MODULE$.LATERAL_JOIN()));

  /**
   * Bytes of the columns that are read, in the files: less takes a task no longer than it takes to
   * start more.
   */
  private static final long ONE_TASK_MAX = 4L << 20;

  /**
   * Of those that are looked into for a few rows: adaptive execution takes as long for its stages
   * and broadcasts.
   */
  private static final long LOOK_UPS_MAX = 16L << 20;

  /** As many that no exchange of a query without joins is worth to be looked at while it runs. */
  private static final long FIXED_MAX = 64L << 20;

  /** Of these, in a partition of an exchange. */
  private static final long PARTITION = 4L << 20;

  /** Adaptive execution puts together what is too small, and could not divide it again. */
  private static final long ADAPTIVE_PARTITIONS_MIN = 8;

  /** Files of one scan that are read sooner than a join can say that they need not be. */
  private static final long FEW_FILES = 3;

  /**
   * Expressions of a plan that are worth to be compiled for few rows. TPC-DS has at most some 800
   * in a query.
   */
  private static final int COMPILED_MAX = 4000;

  private final SparkSession spark;
  private final SessionSettings session;
  private Map<String, String> changes = new HashMap<>();
  private LimitPruning some;

  ExecutionSettings(SparkSession spark, SessionSettings session) {
    this.spark = spark;
    this.session = session;
  }

  /** The query's optimized plan; its joins are planned by cost, if it has any. */
  LogicalPlan optimized(final StatementQueryExecution query) {
    boolean usesStatistics = OptimizerRule.SCAN_STATISTICS.isEnabled();
    if (usesStatistics && query.analyzed().containsAnyPattern(JOINING)) planByCost();
    return (LogicalPlan)
        during(
            new scala.runtime.AbstractFunction0() {
              public Object apply() {
                return query.optimizedPlan();
              }
            });
  }

  /**
   * Optimizes the query, and chooses how it is planned and run, which is to happen in {@link
   * #during}. What is to be run is another query where some of it is cheaper otherwise ({@link
   * DateGroupingKeys}), as sums that are tried in longs ({@link UnscaledDecimalAggregates}).
   */
  StatementQueryExecution choose(StatementQueryExecution query, boolean triesLongs) {
    LogicalPlan found = optimized(query);
    LogicalPlan optimized = ScanStatistics.forBroadcasts(found);
    some = LimitPruning.of(optimized);
    RemainingFiles left = new RemainingFiles(optimized);
    if (left.isEmpty()) return query;
    LogicalPlan cheaper = optimized;
    if (triesLongs) {
      cheaper = new DateGroupingKeys().apply(cheaper);
      cheaper = new UnscaledDecimalAggregates(left).apply(cheaper);
    }
    cheaper = byBytes(cheaper, left);
    StatementQueryExecution chosen =
        cheaper == found ? query : new OptimizedQueryExecution(spark, query.analyzed(), cheaper);
    choose(chosen, left);
    return chosen;
  }

  /**
   * A query whose rows are written, as one task that reads and writes them all; null where that
   * would be too much for one. To be planned and run in {@link #during}.
   */
  StatementQueryExecution inOneTask(StatementQueryExecution query) {
    RemainingFiles left = new RemainingFiles(optimized(query));
    return !left.isEmpty() && choose(query, left) ? query : null;
  }

  /** Whether what scans of so many bytes leave may be little enough for one task. */
  static boolean mayBeOneTask(StatementRequest request) {
    long bytes = 0;
    for (int i = 0; i < request.scans.length; i++) bytes += request.scans[i].bytes;
    return bytes <= 2 * ONE_TASK_MAX; // of all columns
  }

  /**
   * As {@link SemiJoinReduction} and {@link BroadcastSelection}, where the plan that runs is large
   * enough to be worth it.
   */
  private LogicalPlan byBytes(final LogicalPlan optimized, final RemainingFiles left) {
    long bytes = 0;
    if (left.joins()) for (var size : left.sizes()) bytes += size.bytes();
    if (bytes <= LOOK_UPS_MAX) return optimized;
    return (LogicalPlan)
        during(
            new scala.runtime.AbstractFunction0() {
              public Object apply() {
                long broadcastMax = session.with(changes).autoBroadcastJoinThreshold();
                LogicalPlan fewer = new SemiJoinReduction(broadcastMax).apply(optimized);
                boolean isOurs = changes.containsKey(BROADCAST);
                return isOurs
                    ? new BroadcastSelection(left, SPARK_BROADCAST, broadcastMax).apply(fewer)
                    : fewer;
              }
            });
  }

  /** Returns whether the query runs in one task. */
  private boolean choose(StatementQueryExecution query, RemainingFiles left) {
    List<RemainingFiles.ScanSize> sizes = left.sizes();
    long bytes = 0;
    long files = 0;
    for (var size : sizes) {
      files = Math.max(files, size.files());
      bytes += size.bytes();
    }
    boolean fits =
        bytes <= ONE_TASK_MAX
            || left.joins() && bytes <= LOOK_UPS_MAX && besidesLookUps(left, sizes) <= ONE_TASK_MAX;
    boolean isSmall =
        !left.mayMultiply() && (left.joins() ? fits && files <= FEW_FILES : bytes <= FIXED_MAX);
    boolean fixed = isSmall && OptimizerRule.STATIC_PLANS.isEnabled();
    boolean oneTask =
        isSmall
            && fits
            && !session.hasSet(PARTITIONS)
            && OptimizerRule.SINGLE_TASK_EXECUTION.isEnabled();
    if (oneTask) {
      markOneTask(left.relations());
      OptimizerRule.SINGLE_TASK_EXECUTION.count();
    }
    if (fixed && !session.hasSet(ADAPTIVE)) {
      query.beFixed();
      OptimizerRule.STATIC_PLANS.count();
    }
    choosePartitions(oneTask, fixed, bytes);
    if (bytes <= ONE_TASK_MAX
        && OptimizerRule.INTERPRETED_PLANS.isEnabled()
        && hasManyExpressions(query.optimizedPlan())) {
      changes.put("spark.sql.codegen.wholeStage", "false");
      OptimizerRule.INTERPRETED_PLANS.count();
    }
    if (oneTask && left.joins() && !session.hasSet(BROADCAST)) query.joinInOneTask();
    return oneTask && !query.isAdaptive();
  }

  private void choosePartitions(boolean oneTask, boolean fixed, long bytes) {
    changes = new HashMap<>(changes);
    boolean bySize = !oneTask && OptimizerRule.SHUFFLE_PARTITIONS.isEnabled();
    if (!oneTask && !bySize) return;
    long max = session.with(changes).numShufflePartitions();
    long partitions =
        oneTask ? 1 : Math.max(fixed ? 2 : ADAPTIVE_PARTITIONS_MIN, powerOfTwo(bytes / PARTITION));
    changes.put(PARTITIONS, Long.toString(Math.min(max, partitions)));
    if (bySize && partitions < max) OptimizerRule.SHUFFLE_PARTITIONS.count();
  }

  /**
   * Returns the bytes that are read of the other relations; one whose file Spark would not read in
   * one task is among them.
   */
  private long besidesLookUps(RemainingFiles left, List<RemainingFiles.ScanSize> sizes) {
    Set<?> lookups = (Set<?>) during(() -> left.lookups());
    long fileMax = session.with(changes).filesMaxPartitionBytes();
    return sizes.stream()
        .filter(size -> !lookups.contains(size.relation()) || size.fileBytes() > fileMax)
        .mapToLong(RemainingFiles.ScanSize::bytes)
        .sum();
  }

  /**
   * What a query wants of which it does not matter which rows they are; null: it is no such query.
   */
  LimitPruning some() {
    return some;
  }

  private static boolean hasManyExpressions(LogicalPlan plan) {
    final int[] count = {0};
    new TreeVisitor() {
      public void visit(TreeNode<?> node) {
        if (++count[0] <= COMPILED_MAX) visitFields(node);
      }
    }.visit(plan);
    return count[0] > COMPILED_MAX;
  }

  private void planByCost() {
    changes = new HashMap<>();
    if (session.with(changes).autoBroadcastJoinThreshold() == SPARK_BROADCAST) {
      changes.put(BROADCAST, Long.toString(OUR_BROADCAST));
    }
    changes.put("spark.sql.cbo.enabled", "true");
    changes.put("spark.sql.cbo.joinReorder.enabled", "true");
    changes.put("spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "64MB");
  }

  /** The next one above, so that there are not many different numbers. */
  private static long powerOfTwo(long number) {
    return Long.highestOneBit(Math.max(number, 1)) << 1;
  }

  /**
   * The one partition of a scan is made of all its files, which may be none. It is asked for its
   * files when it is planned, so a join could not leave out any of them later.
   */
  private static void markOneTask(List<LogicalRelation> relations) {
    for (LogicalRelation relation : relations) {
      relation.setTagValue(MarkSingleTaskExecution$.MODULE$.markTag(), Boolean.TRUE);
    }
  }

  /** Runs `work` with the settings, on this thread. */
  Object during(scala.Function0<?> work) {
    SQLConf settings = session.with(changes);
    return SQLConf$.MODULE$.withExistingConf(settings, work);
  }
}
