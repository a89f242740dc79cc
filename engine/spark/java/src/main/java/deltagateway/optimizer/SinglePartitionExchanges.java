package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
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
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;
import org.apache.spark.sql.execution.window.WindowExec;
import org.apache.spark.sql.execution.window.WindowGroupLimitExec;

/**
 * Leaves out the exchanges of rows that are all in one partition. Spark does so by itself above a
 * scan of one task, and no more above a join of two of them, an expansion or a union: those do not
 * tell that they have one partition.
 *
 * <p>A plan has one partition if its scans have and each operator above them keeps it, of a list of
 * operators; so all exchanges in it are left out together, and none where one side of a join or
 * union would go on to have several. What users ask for, as by `repartition`, is done; a
 * rebalancing asks for no number.
 */
public final class SinglePartitionExchanges extends Rule {
  private static final Set KEEPING =
      new HashSet<>(
          Arrays.asList(
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
              CollectLimitExec.class));

  public TreeNode apply(TreeNode plan) {
    return rewritten((SparkPlan) plan);
  }

  /**
   * Below the operators of several partitions that have one child, which is as well off with one.
   */
  private static SparkPlan rewritten(SparkPlan plan) {
    SparkPlan one = inOne(plan);
    if (one != null) return one;
    if (plan.children().size() != 1) return plan;
    SparkPlan child = plan.children().head();
    SparkPlan better = rewritten(child);
    return better == child ? plan : over(plan, better);
  }

  /** The same rows in one partition; null where they may be in several. */
  private static SparkPlan inOne(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec) return isSingle(plan) ? plan : null;
    if (plan instanceof ShuffleExchangeExec) return ofExchange((ShuffleExchangeExec) plan);
    if (plan instanceof BroadcastHashJoinExec) return ofBroadcast((BroadcastHashJoinExec) plan);
    boolean joins = plan instanceof ShuffledHashJoinExec || plan instanceof SortMergeJoinExec;
    if (!joins && !(plan instanceof UnionExec) && !KEEPING.contains(plan.getClass())) return null;
    SparkPlan[] children = new SparkPlan[plan.children().size()];
    for (int i = 0; i < children.length; i++) {
      children[i] = inOne(plan.children().apply(i));
      if (children[i] == null) return null;
    }
    SparkPlan one = over(plan, children);
    return plan instanceof UnionExec && !isSingle(one) ? new CoalesceExec(1, one) : one;
  }

  private static SparkPlan ofExchange(ShuffleExchangeExec exchange) {
    boolean isAsked =
        exchange.shuffleOrigin() != ENSURE_REQUIREMENTS$.MODULE$
            && exchange.shuffleOrigin() != REBALANCE_PARTITIONS_BY_COL$.MODULE$
            && exchange.shuffleOrigin() != REBALANCE_PARTITIONS_BY_NONE$.MODULE$;
    SparkPlan one = isAsked ? null : inOne(exchange.child());
    if (one != null) return told(one);
    if (exchange.outputPartitioning().numPartitions() != 1) return null;
    SparkPlan better = rewritten(exchange.child());
    return better == exchange.child() ? exchange : over(exchange, better);
  }

  /**
   * As of one partition: expanded rows tell of none, and joins take no sides that tell of different
   * numbers.
   */
  private static SparkPlan told(SparkPlan one) {
    return one.outputPartitioning().numPartitions() == 1 ? one : new CoalesceExec(1, one);
  }

  /** What is broadcast is a job by itself. */
  private static SparkPlan ofBroadcast(BroadcastHashJoinExec join) {
    SparkPlan streamed = inOne(join.streamedPlan());
    if (streamed == null) return null;
    boolean isLeft = join.streamedPlan() == join.left();
    return over(join, isLeft ? streamed : join.left(), isLeft ? join.right() : streamed);
  }

  private static boolean isSingle(SparkPlan plan) {
    return plan.outputPartitioning() == SinglePartition$.MODULE$;
  }

  private static SparkPlan over(SparkPlan plan, SparkPlan... children) {
    List<SparkPlan> list = new ArrayList<>(Arrays.asList(children));
    return plan.withNewChildren(ScalaConversions.seq(list));
  }
}
