package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.optimizer.BuildLeft$;
import org.apache.spark.sql.catalyst.optimizer.BuildSide;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SHUFFLE_HASH$;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.execution.SparkStrategies;
import org.apache.spark.sql.execution.SparkStrategy;

/**
 * Joins of a query of one task: the side that Spark would broadcast, by its size, is hashed by the
 * task itself, which takes no job and no more memory. Each row of the other side is copied on its
 * way into such a join, and not into one with a broadcast side, which is the faster one where rows
 * are many. All other joins, those with hints among them, are left to Spark.
 */
public final class SingleTaskHashJoin extends SparkStrategy {
  private static final long ROWS_MAX = 200000;

  /** Where the rows are not known. */
  private static final long BYTES_MAX = 4L << 20;

  private final SparkPlanner planner;

  public SingleTaskHashJoin(SparkPlanner planner) {
    this.planner = planner;
  }

  public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
    JoinHint hint = plan instanceof Join ? hint((Join) plan) : null;
    if (hint == null) return ScalaConversions.seq(new ArrayList<>());
    Join join = (Join) plan;
    return planner.JoinSelection()
        .apply(join.copy(join.left(), join.right(), join.joinType(), join.condition(), hint));
  }

  /** To hash one side; null for neither. */
  private JoinHint hint(Join join) {
    if (!join.hint().isEmpty() || ExtractEquiJoinKeys$.MODULE$.unapply(join).isEmpty()) return null;
    if (!hasFewRows(join.left()) || !hasFewRows(join.right())) return null;
    SparkStrategies.JoinSelection$ selection = planner.JoinSelection();
    scala.Option<BuildSide> side = selection.getBroadcastBuildSide(join, false, planner.conf());
    if (side.isEmpty()) return null;
    boolean isLeft = side.get() == BuildLeft$.MODULE$;
    if (isLeft && !selection.canBuildShuffledHashJoinLeft(join.joinType())) return null;
    if (!isLeft && !selection.canBuildShuffledHashJoinRight(join.joinType())) return null;
    scala.Option<HintInfo> hashed =
        new scala.Some<>(new HintInfo(new scala.Some<>(SHUFFLE_HASH$.MODULE$)));
    return isLeft
        ? new JoinHint(hashed, ScalaConversions.none())
        : new JoinHint(ScalaConversions.none(), hashed);
  }

  private static boolean hasFewRows(LogicalPlan side) {
    Statistics known = side.stats();
    if (known.rowCount().isEmpty()) return known.sizeInBytes().toDouble() <= BYTES_MAX;
    return known.rowCount().get().toDouble() <= ROWS_MAX;
  }
}
