package deltagateway.cache;

import deltagateway.aggregate.VectorizedAggregateExec;
import deltagateway.internals.ScalaConversions;
import deltagateway.scan.FileListing;
import deltagateway.scan.FilteredScan;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.session.InterruptibleRowsExec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;

/**
 * Tasks of a query that ran, with their generated code. Run again over the same files they return
 * the same rows, as a Dataset of Spark that is collected twice does. Planning and code generation,
 * which take as long as the tasks of a small query, are skipped.
 *
 * <p>A query of one stage is cached as a whole. For an aggregate of several tasks, the tasks before
 * the exchange are cached; a copy of the plan above them runs with new exchanges.
 *
 * <p>A cached plan belongs to an entry of {@link PlanCache}, whose key covers all that the plan
 * depends on. The lists of files are requested again, with sizes, times and constants (deletion
 * vectors among them), and must be the same. Tasks do not change it: each deserializes its own
 * copy. Not cached are plans that hold data (broadcasts, shuffles, results of subqueries), that
 * change while they run, or that read with vended credentials, which belong to a statement.
 */
public final class CachedPlan {
  private static final int FILES_MAX = 100;

  /** Null if {@link #stages} creates them. */
  private final RDD<InternalRow> rows;

  /** A plan over cached tasks, of which copies run; null for a plan of one stage. */
  private final SparkPlan stages;

  /** Listed files by their scans. */
  private final Map<String, List<FileListing.Answer>> files;

  /** The number of the execution that Spark recorded, or null. */
  final Long execution;

  private CachedPlan(
      RDD<InternalRow> rows,
      SparkPlan stages,
      Map<String, List<FileListing.Answer>> files,
      Long execution) {
    this.execution = execution;
    this.rows = rows;
    this.stages = stages;
    this.files = files;
  }

  /**
   * Returns an executed plan over `files`, by their scans, or null if it must not be cached.
   * `execution` is the number of the execution that Spark recorded, or null.
   */
  public static CachedPlan of(
      SparkPlan plan, RDD<InternalRow> rows, Map<String, PrunedFileIndex> files, Long execution) {
    SparkPlan stages = isOneStage(plan) ? null : overCachedTasks(plan);
    if (stages == null && (!isOneStage(plan) || shuffles(rows))) return null;
    Map<String, List<FileListing.Answer>> listed = new HashMap<>();
    for (Map.Entry<String, PrunedFileIndex> entry : files.entrySet()) {
      if (entry.getValue().scan().lease != null) return null;
      listed.put(entry.getKey(), entry.getValue().listing().answers());
    }
    long count =
        listed.values().stream()
            .flatMap(List::stream)
            .mapToLong(answer -> answer.files().count())
            .sum();
    if (count > FILES_MAX) return null;
    return new CachedPlan(stages == null ? rows : null, stages, listed, execution);
  }

  /** Returns whether all leaves are scans of the gateway and no node holds results. */
  private static boolean isOneStage(SparkPlan plan) {
    boolean holdsData = plan instanceof Exchange || plan instanceof ReusedExchangeExec;
    if (holdsData || plan instanceof AdaptiveSparkPlanExec || !plan.subqueries().isEmpty())
      return false;
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    return children.isEmpty()
        ? FilteredScan.isOurs(plan)
        : children.stream().allMatch(CachedPlan::isOneStage);
  }

  /**
   * Returns the plan with its partial aggregates, which have run, replaced by their tasks; null if
   * it has other leaves.
   */
  private static SparkPlan overCachedTasks(SparkPlan plan) {
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    if (plan instanceof ShuffleExchangeExec shuffle && isOneStage(children.get(0))) {
      SparkPlan child = children.get(0);
      if (!isAggregate(child)) return null; // copying many rows costs more than planning
      RDD<InternalRow> tasks = shuffle.inputRDD();
      SparkPlan cached =
          new RDDScanExec(
              child.output(),
              tasks,
              "cached",
              child.outputPartitioning(),
              child.outputOrdering(),
              ScalaConversions.none());
      return shuffles(tasks) ? null : plan.withNewChildren(ScalaConversions.seq(List.of(cached)));
    }
    boolean holdsData = plan instanceof Exchange && !(plan instanceof ShuffleExchangeExec);
    if (holdsData || plan instanceof ReusedExchangeExec || plan instanceof AdaptiveSparkPlanExec)
      return null;
    if (children.isEmpty() || !plan.subqueries().isEmpty()) return null;
    List<SparkPlan> cached = new ArrayList<>();
    for (SparkPlan child : children) {
      SparkPlan replaced = overCachedTasks(child);
      if (replaced == null) return null;
      cached.add(replaced);
    }
    return plan.withNewChildren(ScalaConversions.seq(cached));
  }

  private static boolean isAggregate(SparkPlan plan) {
    SparkPlan node = plan instanceof WholeStageCodegenExec stage ? stage.child() : plan;
    if (node instanceof InterruptibleRowsExec rows) node = rows.child();
    return node instanceof BaseAggregateExec || node instanceof VectorizedAggregateExec;
  }

  private static boolean shuffles(RDD<?> rows) {
    return ScalaConversions.list(rows.dependencies()).stream()
        .anyMatch(
            dependency -> dependency instanceof ShuffleDependency || shuffles(dependency.rdd()));
  }

  /** Returns whether a statement with these `files` reads the same. */
  boolean isOver(Map<String, PrunedFileIndex> files) {
    return this.files.entrySet().stream()
        .allMatch(
            entry -> {
              PrunedFileIndex index = files.get(entry.getKey());
              return index != null && index.listing().hasSame(entry.getValue());
            });
  }

  /** Returns the rows for one job of a statement in `spark`, the active session. */
  public RDD<InternalRow> rows(SparkSession spark) {
    if (stages == null) return rows;
    SparkPlan copy = stages.clone();
    // Copied nodes make their own session the active one.
    SparkSession$.MODULE$.setActiveSession(spark);
    return copy.execute();
  }
}
