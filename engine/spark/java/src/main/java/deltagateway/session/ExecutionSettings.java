package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import deltagateway.internals.TreeVisitor;
import deltagateway.optimizer.BroadcastSelection;
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
import java.util.concurrent.Callable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.MarkSingleTaskExecution$;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Enumeration;
import scala.collection.immutable.Seq;

/**
 * Chooses how one query is executed, by the bytes of the files that its filters select. No choice
 * changes the query's result.
 *
 * <ul>
 *   <li>A small query runs in one task without exchanges: its scans are marked as Spark marks scans
 *       of single files, and rows in one partition need no exchange. Broadcasts, which take a job
 *       for each join, are not used either: the task builds the hash tables itself ({@link
 *       SingleTaskHashJoin}). Joins without equal keys and generators may multiply rows, so their
 *       queries keep their tasks. Larger files are read in the one task too if they are looked up
 *       by a few keys.
 *   <li>Adaptive execution chooses joins and partitions again while a query runs, which takes some
 *       milliseconds for each stage. Without a join it could only coalesce partitions, so there are
 *       as few from the beginning as the bytes require; and in a small query a join could prune few
 *       files.
 *   <li>A plan of many thousands of expressions over few bytes is not compiled as a whole, which
 *       would take minutes for a CASE of 5,000 branches.
 *   <li>A write is planned this way only if one task reads and writes all its rows.
 * </ul>
 *
 * <p>A session's own number of partitions and adaptive execution setting apply if it has set them.
 * The settings are those of a statement ({@link SessionSettings}), in effect on the thread that
 * plans and runs it.
 */
public final class ExecutionSettings {
  private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
  private static final String PARTITIONS = "spark.sql.shuffle.partitions";
  private static final String BROADCAST = "spark.sql.autoBroadcastJoinThreshold";

  /** Spark's default, for sizes that are estimated from files; ours are sizes in memory. */
  private static final long SPARK_BROADCAST = 10L << 20;

  /** Some dozens of concurrent statements may each have a few broadcast tables of this size. */
  private static final long OUR_BROADCAST =
      Math.max(SPARK_BROADCAST, Math.min(32L << 20, Runtime.getRuntime().maxMemory() / 64));

  /** Patterns of operators and expressions that Spark plans as joins. */
  private static final Seq<Enumeration.Value> JOINS =
      ScalaConversions.seq(
          List.of(
              TreePattern.JOIN(),
              TreePattern.EXISTS_SUBQUERY(),
              TreePattern.LIST_SUBQUERY(),
              TreePattern.SCALAR_SUBQUERY(),
              TreePattern.LATERAL_JOIN()));

  /**
   * Bytes of the read columns in the files: a task reads fewer in less time than it takes to start
   * more tasks.
   */
  private static final long ONE_TASK_MAX = 4L << 20;

  /**
   * Bytes of relations that are looked up by a few keys: adaptive execution takes as long for its
   * stages and broadcasts.
   */
  private static final long LOOK_UPS_MAX = 16L << 20;

  /** Bytes up to which adaptive execution does not pay off in a query without joins. */
  private static final long FIXED_MAX = 64L << 20;

  /** Bytes of the read columns for a partition of an exchange. */
  private static final long PARTITION = 16L << 20;

  /** Number of files of a scan that are read sooner than a join could prune them. */
  private static final long FEW_FILES = 3;

  /**
   * Number of expressions up to which compilation pays off for few rows. TPC-DS has at most about
   * 800 in a query.
   */
  private static final int COMPILED_MAX = 4000;

  private final SparkSession spark;
  private final SessionSettings session;
  private Map<String, String> changes = new HashMap<>();
  private LimitPruning limit;

  ExecutionSettings(SparkSession spark, SessionSettings session) {
    this.spark = spark;
    this.session = session;
  }

  /** Returns the query's optimized plan; joins are reordered by cost, if the rule is enabled. */
  LogicalPlan optimized(StatementQueryExecution query) {
    boolean usesStatistics = OptimizerRule.SCAN_STATISTICS.isEnabled();
    if (usesStatistics && query.analyzed().containsAnyPattern(JOINS)) reorderByCost();
    return during(query::optimizedPlan);
  }

  /**
   * Optimizes the query, and chooses how it is planned and run, which must happen in {@link
   * #during}. Returns another query if parts of it are cheaper in another form, such as sums that
   * are tried in longs ({@link UnscaledDecimalAggregates}).
   */
  StatementQueryExecution choose(StatementQueryExecution query, boolean triesLongs) {
    LogicalPlan original = optimized(query);
    LogicalPlan optimized = ScanStatistics.forBroadcasts(original);
    limit = LimitPruning.of(optimized);
    RemainingFiles files = new RemainingFiles(optimized);
    if (files.isEmpty()) return query;
    LogicalPlan cheaper =
        triesLongs ? new UnscaledDecimalAggregates(files).apply(optimized) : optimized;
    cheaper = byBytes(cheaper, files);
    StatementQueryExecution chosen =
        cheaper == original ? query : new OptimizedQueryExecution(spark, query.analyzed(), cheaper);
    choose(chosen, files);
    return chosen;
  }

  /**
   * Returns the query if one task reads and writes all its rows, which must happen in {@link
   * #during}; null if it has too many.
   */
  StatementQueryExecution inOneTask(StatementQueryExecution query) {
    RemainingFiles files = new RemainingFiles(optimized(query));
    return !files.isEmpty() && choose(query, files) ? query : null;
  }

  /** Returns false if the scans of a write have certainly too many bytes for one task. */
  static boolean mayBeOneTask(StatementRequest request) {
    long bytes = Arrays.stream(request.scans).mapToLong(scan -> scan.bytes).sum();
    return bytes <= 2 * ONE_TASK_MAX; // of all columns
  }

  /** Applies {@link SemiJoinReduction} and {@link BroadcastSelection} to large plans. */
  private LogicalPlan byBytes(LogicalPlan optimized, RemainingFiles files) {
    long bytes = 0;
    if (files.joins()) for (RemainingFiles.ScanSize size : files.sizes()) bytes += size.bytes();
    if (bytes <= LOOK_UPS_MAX) return optimized;
    return during(
        () -> {
          long broadcastMax = session.with(changes).autoBroadcastJoinThreshold();
          LogicalPlan reduced = new SemiJoinReduction(broadcastMax).apply(optimized);
          return changes.containsKey(BROADCAST)
              ? new BroadcastSelection(files, SPARK_BROADCAST, broadcastMax).apply(reduced)
              : reduced;
        });
  }

  /** Returns true if the query runs in one task. */
  private boolean choose(StatementQueryExecution query, RemainingFiles remaining) {
    List<RemainingFiles.ScanSize> sizes = remaining.sizes();
    long bytes = 0;
    long files = 0;
    for (RemainingFiles.ScanSize size : sizes) {
      files = Math.max(files, size.files());
      bytes += size.bytes();
    }
    boolean fits =
        bytes <= ONE_TASK_MAX
            || remaining.joins()
                && bytes <= LOOK_UPS_MAX
                && bytesWithoutLookUps(remaining, sizes) <= ONE_TASK_MAX;
    boolean isSmall =
        !remaining.mayMultiply()
            && (remaining.joins() ? fits && files <= FEW_FILES : bytes <= FIXED_MAX);
    boolean isFixed = isSmall && OptimizerRule.STATIC_PLANS.isEnabled();
    boolean isOneTask =
        isSmall
            && fits
            && !session.hasSet(PARTITIONS)
            && OptimizerRule.SINGLE_TASK_EXECUTION.isEnabled();
    if (isOneTask) {
      markOneTask(remaining.relations());
      OptimizerRule.SINGLE_TASK_EXECUTION.count();
    }
    if (isFixed && !session.hasSet(ADAPTIVE)) {
      query.disableAdaptiveExecution();
      if (!session.hasSet(PARTITIONS)) changes.put(PARTITIONS, partitions(bytes));
      OptimizerRule.STATIC_PLANS.count();
    }
    if (isOneTask) changes.put(PARTITIONS, "1");
    if (bytes <= ONE_TASK_MAX
        && OptimizerRule.INTERPRETED_PLANS.isEnabled()
        && hasManyExpressions(query.optimizedPlan())) {
      changes.put("spark.sql.codegen.wholeStage", "false");
      OptimizerRule.INTERPRETED_PLANS.count();
    }
    if (isOneTask && remaining.joins() && !session.hasSet(BROADCAST)) query.joinInOneTask();
    return isOneTask && !query.isAdaptive();
  }

  /** Returns the number of partitions of exchanges that nothing coalesces while the query runs. */
  private String partitions(long bytes) {
    long wanted = Math.max(2, (bytes + PARTITION - 1) / PARTITION);
    return Long.toString(Math.min(wanted, session.with(changes).numShufflePartitions()));
  }

  /**
   * Returns the bytes of the read columns of relations that are not looked up by key, and of those
   * with a file that Spark would split.
   */
  private long bytesWithoutLookUps(RemainingFiles remaining, List<RemainingFiles.ScanSize> sizes) {
    Set<?> lookups = during(remaining::lookups);
    long fileMax = session.with(changes).filesMaxPartitionBytes();
    return sizes.stream()
        .filter(size -> !lookups.contains(size.relation()) || size.fileBytes() > fileMax)
        .mapToLong(RemainingFiles.ScanSize::bytes)
        .sum();
  }

  /** Returns the pruning of a LIMIT without an order; null if the query has none. */
  LimitPruning limit() {
    return limit;
  }

  private static boolean hasManyExpressions(LogicalPlan plan) {
    var counter =
        new TreeVisitor() {
          int count;

          @Override
          public void visit(TreeNode<?> node) {
            if (++count <= COMPILED_MAX) visitFields(node);
          }
        };
    counter.visit(plan);
    return counter.count > COMPILED_MAX;
  }

  private void reorderByCost() {
    changes = new HashMap<>();
    if (session.with(changes).autoBroadcastJoinThreshold() == SPARK_BROADCAST)
      changes.put(BROADCAST, Long.toString(OUR_BROADCAST));
    changes.put("spark.sql.cbo.enabled", "true");
    changes.put("spark.sql.cbo.joinReorder.enabled", "true");
    changes.put("spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "64MB");
  }

  /**
   * Marks scans whose one partition has all their files, or none. Their files are listed when they
   * are planned, so a join could not prune any of them later.
   */
  private static void markOneTask(List<LogicalRelation> relations) {
    for (LogicalRelation relation : relations)
      relation.setTagValue(MarkSingleTaskExecution$.MODULE$.markTag(), true);
  }

  /** Runs `work` with the settings, on this thread. */
  <T> T during(Callable<T> work) {
    return SQLConf$.MODULE$.withExistingConf(
        session.with(changes), ScalaConversions.function(work));
  }
}
