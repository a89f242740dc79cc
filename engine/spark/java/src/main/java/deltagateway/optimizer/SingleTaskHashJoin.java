package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.none;

import org.apache.spark.sql.catalyst.optimizer.BuildLeft$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SHUFFLE_HASH$;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Seq;

/**
 * Strategy for the joins of a query that runs in one task: the task hashes the side that Spark
 * would broadcast by its size, which takes no job and no more memory. A hash join in a task copies
 * each row of the other side, a broadcast join does not, so the latter is faster for many rows. All
 * other joins, including those with hints, are left to Spark.
 */
public final class SingleTaskHashJoin extends SparkStrategy {
  private static final long ROWS_MAX = 200_000;

  /** Limit for a side whose row count is unknown. */
  private static final long BYTES_MAX = 4L << 20;

  private final SparkPlanner planner;

  public SingleTaskHashJoin(SparkPlanner planner) {
    this.planner = planner;
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (!(plan instanceof Join join) || !OptimizerRule.SINGLE_TASK_HASH_JOIN.isEnabled()) {
      return emptySeq();
    }
    JoinHint hint = hint(join);
    if (hint == null) return emptySeq();
    OptimizerRule.SINGLE_TASK_HASH_JOIN.count();
    return planner.JoinSelection().apply(withHint(join, hint));
  }

  /** Returns the join with other hints. */
  static Join withHint(Join join, JoinHint hint) {
    return join.copy(join.left(), join.right(), join.joinType(), join.condition(), hint);
  }

  /** Returns hints for one side of a join. */
  static JoinHint hint(JoinStrategyHint strategy, boolean isLeft) {
    Option<HintInfo> hint = new Some<>(new HintInfo(new Some<>(strategy)));
    return isLeft ? new JoinHint(hint, none()) : new JoinHint(none(), hint);
  }

  /** Returns the hint to hash one side; null if neither may be. */
  private JoinHint hint(Join join) {
    if (!join.hint().isEmpty() || EquiJoinKeys.of(join) == null) return null;
    if (!hasFewRows(join.left()) || !hasFewRows(join.right())) return null;
    var selection = planner.JoinSelection();
    var side = selection.getBroadcastBuildSide(join, false, planner.conf());
    if (side.isEmpty()) return null;
    boolean isLeft = side.get() == BuildLeft$.MODULE$;
    boolean mayHash =
        isLeft
            ? selection.canBuildShuffledHashJoinLeft(join.joinType())
            : selection.canBuildShuffledHashJoinRight(join.joinType());
    return mayHash ? hint(SHUFFLE_HASH$.MODULE$, isLeft) : null;
  }

  private static boolean hasFewRows(LogicalPlan side) {
    Statistics statistics = side.stats();
    return statistics.rowCount().isEmpty()
        ? statistics.sizeInBytes().toDouble() <= BYTES_MAX
        : statistics.rowCount().get().toDouble() <= ROWS_MAX;
  }
}
