package deltagateway.cache;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.FileListing;
import deltagateway.scan.FilteredScan;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.session.InterruptibleRowsExec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.Dependency;
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
 * What a query came to when it ran: tasks with their code, over files. Run again over the same
 * files they give the same rows, as a Dataset of Spark that is collected twice does; nothing is
 * planned, and no code is made, which for a small query takes as long as its tasks.
 *
 * <p>Of a query of one stage all is kept. Of an aggregate of several tasks these are, up to what
 * they exchange; above them a copy of the plan runs, with exchanges of its own, which have no rows
 * yet.
 *
 * <p>It belongs to a kept plan ({@link PlanCache}), so all that the plan follows from is the same;
 * and the log of each scan is asked the same questions again, so the files are, with their sizes,
 * times and constants (deletion vectors among them). Tasks never change it: each has a copy of its
 * own. Not kept is what holds data (broadcasts, shuffles, results of subqueries), what is changed
 * while it runs, and what reads with lent credentials, for which a statement is named.
 */
public final class CachedPlan {
  private static final int FILES_MAX = 100;

  /** Null: `stages` makes them. */
  private final RDD<InternalRow> rows;

  /** A plan over kept tasks that never runs itself; null: there is one stage. */
  private final SparkPlan stages;

  /** Scan -> what its {@link FileListing} was asked, with the answers. */
  private final Map asked;

  /** The number of the execution that Spark recorded, or null. */
  final Long execution;

  private CachedPlan(RDD<InternalRow> rows, SparkPlan stages, Map<?, ?> asked, Long execution) {
    this.execution = execution;
    this.rows = rows;
    this.stages = stages;
    this.asked = asked;
  }

  /**
   * Of a plan that was executed over `files`, scan -> {@link PrunedFileIndex}; null where it may
   * not be kept. `execution` is the number of the execution that Spark recorded, or null.
   */
  public static CachedPlan of(
      SparkPlan plan, RDD<InternalRow> rows, Map<String, PrunedFileIndex> files, Long execution) {
    SparkPlan stages = isPlain(plan) ? null : overKeptTasks(plan);
    if (stages == null && (!isPlain(plan) || shuffles(rows))) return null;
    Map asked = new HashMap<>();
    long count = 0;
    for (Iterator<Map.Entry<String, PrunedFileIndex>> all = files.entrySet().iterator();
        all.hasNext(); ) {
      Map.Entry entry = (Map.Entry<?, ?>) all.next();
      PrunedFileIndex index = (PrunedFileIndex) entry.getValue();
      if (index.scan().lease != null) return null;
      List questions = index.listing().asked();
      for (int i = 0; i < questions.size(); i++)
        count += ((FileListing.Asked) questions.get(i)).answer.count();
      asked.put(entry.getKey(), questions);
    }
    return count > FILES_MAX
        ? null
        : new CachedPlan(stages == null ? rows : null, stages, asked, execution);
  }

  /** Its only leaves are scans of ours; nothing in it has results of its own. */
  private static boolean isPlain(SparkPlan plan) {
    boolean holdsData = plan instanceof Exchange || plan instanceof ReusedExchangeExec;
    if (holdsData || plan instanceof AdaptiveSparkPlanExec || !plan.subqueries().isEmpty())
      return false;
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    if (children.isEmpty()) return FilteredScan.isOurs(plan);
    for (int i = 0; i < children.size(); i++) if (!isPlain(children.get(i))) return false;
    return true;
  }

  /**
   * The plan with partial aggregates, which have run, as the tasks that they came to; null where it
   * has other leaves.
   */
  private static SparkPlan overKeptTasks(SparkPlan plan) {
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    List<SparkPlan> kept = new ArrayList<>();
    if (plan instanceof ShuffleExchangeExec && isPlain(children.get(0))) {
      SparkPlan child = children.get(0);
      if (!isAggregate(child)) return null; // of many rows a copy more is noticed
      RDD<InternalRow> tasks = ((ShuffleExchangeExec) plan).inputRDD();
      kept.add(
          new RDDScanExec(
              child.output(),
              tasks,
              "kept",
              child.outputPartitioning(),
              child.outputOrdering(),
              ScalaConversions.none()));
      return shuffles(tasks) ? null : plan.withNewChildren(ScalaConversions.seq(kept));
    }
    boolean holdsData = plan instanceof Exchange && !(plan instanceof ShuffleExchangeExec);
    if (holdsData || plan instanceof ReusedExchangeExec || plan instanceof AdaptiveSparkPlanExec)
      return null;
    if (children.isEmpty() || !plan.subqueries().isEmpty()) return null;
    for (int i = 0; i < children.size(); i++) {
      SparkPlan child = overKeptTasks(children.get(i));
      if (child == null) return null;
      kept.add(child);
    }
    return plan.withNewChildren(ScalaConversions.seq(kept));
  }

  private static boolean isAggregate(SparkPlan plan) {
    SparkPlan made =
        plan instanceof WholeStageCodegenExec ? ((WholeStageCodegenExec) plan).child() : plan;
    if (made instanceof InterruptibleRowsExec) made = ((InterruptibleRowsExec) made).child();
    return made instanceof BaseAggregateExec;
  }

  private static boolean shuffles(RDD rows) {
    List dependencies = ScalaConversions.list(rows.dependencies());
    for (int i = 0; i < dependencies.size(); i++) {
      Dependency<?> each = (Dependency<?>) dependencies.get(i);
      if (each instanceof ShuffleDependency || shuffles(each.rdd())) return true;
    }
    return false;
  }

  /** Whether a statement with these `files` reads the same. */
  boolean isOver(Map<String, PrunedFileIndex> files) {
    for (Iterator all = asked.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry<?, List<FileListing.Asked>> entry =
          (Map.Entry<?, List<FileListing.Asked>>) all.next();
      PrunedFileIndex index = files.get(entry.getKey());
      if (index == null || !index.listing().answers(entry.getValue())) return false;
    }
    return true;
  }

  /** For one job of a statement in `spark`, the session that is active. */
  public RDD<InternalRow> rows(SparkSession spark) {
    if (stages == null) return rows;
    SparkPlan own = stages.clone();
    SparkSession$.MODULE$.setActiveSession(
        spark); // nodes that are copied make theirs the active one
    return own.execute();
  }
}
