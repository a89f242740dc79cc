package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.seq;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.ExpandExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.GlobalLimitExec;
import org.apache.spark.sql.execution.LocalLimitExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.TakeOrderedAndProjectExec;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec;
import org.apache.spark.sql.execution.aggregate.SortAggregateExec;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.REBALANCE_PARTITIONS_BY_COL$;
import org.apache.spark.sql.execution.exchange.REBALANCE_PARTITIONS_BY_NONE$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleOrigin;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;
import org.apache.spark.sql.execution.window.WindowExec;
import org.apache.spark.sql.execution.window.WindowGroupLimitExec;

/**
 * Removes the exchanges of rows that are all in one partition. Spark does so itself above a scan of
 * one task, but not above a join of two of them, an expansion or a union, which do not report one
 * partition.
 *
 * <p>A plan has one partition if its scans have one and each operator above is known to preserve
 * it. So all its exchanges are removed together, and none if one side of a join or union would
 * still have several. An exchange that the user requested, for example by `repartition`, stays; a
 * rebalancing requests no number of partitions.
 */
public final class SinglePartitionExchanges extends SwitchedRule<SparkPlan> {
  private static final Set<Class<? extends SparkPlan>> PRESERVING =
      Set.of(
          ProjectExec.class,
          FilterExec.class,
          SortExec.class,
          HashAggregateExec.class,
          ObjectHashAggregateExec.class,
          SortAggregateExec.class,
          ExpandExec.class,
          WindowExec.class,
          WindowGroupLimitExec.class,
          LocalLimitExec.class,
          GlobalLimitExec.class,
          TakeOrderedAndProjectExec.class,
          CollectLimitExec.class,
          ShuffledHashJoinExec.class,
          SortMergeJoinExec.class,
          UnionExec.class);
  private static final Set<ShuffleOrigin> REMOVABLE =
      Set.of(
          ENSURE_REQUIREMENTS$.MODULE$,
          REBALANCE_PARTITIONS_BY_COL$.MODULE$,
          REBALANCE_PARTITIONS_BY_NONE$.MODULE$);

  public SinglePartitionExchanges() {
    super(OptimizerRule.SINGLE_PARTITION_EXCHANGES);
  }

  /** Rewrites the largest subtrees of one partition below operators with one child. */
  @Override
  SparkPlan rewritePlan(SparkPlan plan) {
    SparkPlan single = inOnePartition(plan);
    if (single != null) return single;
    if (plan.children().size() != 1) return plan;
    SparkPlan child = plan.children().head();
    SparkPlan rewritten = rewritePlan(child);
    return rewritten == child ? plan : plan.withNewChildren(one(rewritten));
  }

  /** Returns a plan with the same rows in one partition; null if they may be in several. */
  private SparkPlan inOnePartition(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec) return isSingle(plan) ? plan : null;
    if (plan instanceof ShuffleExchangeExec exchange) return withoutExchange(exchange);
    if (plan instanceof BroadcastHashJoinExec join) return withSingleStream(join);
    if (!PRESERVING.contains(plan.getClass())) return null;
    List<SparkPlan> children = new ArrayList<>();
    for (SparkPlan each : list(plan.children())) {
      SparkPlan child = inOnePartition(each);
      if (child == null) return null;
      children.add(child);
    }
    SparkPlan single = withChildren(plan, children);
    return plan instanceof UnionExec && !isSingle(single) ? new CoalesceExec(1, single) : single;
  }

  private SparkPlan withoutExchange(ShuffleExchangeExec exchange) {
    boolean isRemovable = REMOVABLE.contains(exchange.shuffleOrigin());
    SparkPlan single = isRemovable ? inOnePartition(exchange.child()) : null;
    if (single != null) return reportingOnePartition(single);
    if (exchange.outputPartitioning().numPartitions() != 1) return null;
    return withChildren(exchange, List.of(rewritePlan(exchange.child())));
  }

  /**
   * Returns a plan that reports one partition, which expanded rows do not; joins reject sides that
   * report different numbers.
   */
  private static SparkPlan reportingOnePartition(SparkPlan single) {
    return single.outputPartitioning().numPartitions() == 1 ? single : new CoalesceExec(1, single);
  }

  /** Leaves the broadcast side, which is a job of its own, as it is. */
  private SparkPlan withSingleStream(BroadcastHashJoinExec join) {
    SparkPlan streamed = inOnePartition(join.streamedPlan());
    if (streamed == null) return null;
    boolean isLeft = join.streamedPlan() == join.left();
    return withChildren(
        join, isLeft ? List.of(streamed, join.right()) : List.of(join.left(), streamed));
  }

  private static boolean isSingle(SparkPlan plan) {
    return plan.outputPartitioning() == SinglePartition$.MODULE$;
  }

  /** Returns the plan itself if all children are its own. */
  private static SparkPlan withChildren(SparkPlan plan, List<SparkPlan> children) {
    List<SparkPlan> own = list(plan.children());
    for (int i = 0; i < children.size(); i++) {
      if (children.get(i) != own.get(i)) return plan.withNewChildren(seq(children));
    }
    return plan;
  }
}
