package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.planning.ScanOperation$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Broadcasts one side of a join that Spark would broadcast by the bytes of its files, where the
 * estimate of its rows in memory is above the threshold. Without estimates Spark takes the bytes of
 * files for those in memory, so that a narrow table of two million rows is broadcast; with them it
 * would sort both sides, which takes up to twice as long (TPC-DS 16 and 64 at scale 1). What is
 * broadcast is never more than without estimates.
 */
public final class BroadcastSelection extends scala.runtime.AbstractPartialFunction {
  private final Map<Object, Long> bytes = new IdentityHashMap<>();
  private final long filesMax;
  private final long broadcastMax;

  private BroadcastSelection(RemainingFiles left, long filesMax, long broadcastMax) {
    this.filesMax = filesMax;
    this.broadcastMax = broadcastMax;
    long[][] sizes = left.sizes();
    for (int i = 0; i < sizes.length; i++)
      bytes.put(left.relations().get(i), Long.valueOf(sizes[i][1]));
  }

  /**
   * An optimized plan with such joins; itself where there are none. `filesMax` is Spark's threshold
   * for bytes of files, `broadcastMax` that for estimates. To be asked where the statement plans by
   * cost.
   */
  public static LogicalPlan in(
      LogicalPlan optimized, RemainingFiles left, long filesMax, long broadcastMax) {
    return optimized.transformDownWithSubqueries(
        new BroadcastSelection(left, filesMax, broadcastMax));
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Join;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    Join join = (Join) node;
    boolean isHinted = join.hint().leftHint().isDefined() || join.hint().rightHint().isDefined();
    if (isHinted || ExtractEquiJoinKeys$.MODULE$.unapply(join).isEmpty()) return join;
    JoinType type = join.joinType();
    double left = estimate(join.left());
    double right = estimate(join.right());
    boolean isInner = type == Inner$.MODULE$;
    boolean mayRight =
        isInner
            || type == LeftOuter$.MODULE$
            || type == LeftSemi$.MODULE$
            || type == LeftAnti$.MODULE$;
    boolean mayLeft = isInner || type == RightOuter$.MODULE$;
    if (mayLeft && left <= broadcastMax || mayRight && right <= broadcastMax)
      return join; // Spark broadcasts that one
    mayRight &= areFewBytes(join.right());
    mayLeft &= areFewBytes(join.left());
    if (!mayLeft && !mayRight) return join;
    boolean isRight = mayRight && (!mayLeft || right <= left);
    scala.Option<HintInfo> hint =
        new scala.Some<>(new HintInfo(new scala.Some<>((JoinStrategyHint) BROADCAST$.MODULE$)));
    JoinHint hints =
        isRight
            ? new JoinHint(ScalaConversions.none(), hint)
            : new JoinHint(hint, ScalaConversions.none());
    return join.copy(join.left(), join.right(), type, join.condition(), hints);
  }

  private static double estimate(LogicalPlan plan) {
    return plan.stats().sizeInBytes().toDouble();
  }

  /** Returns whether the plan is a scan of ours that reads so few bytes. */
  private boolean areFewBytes(LogicalPlan plan) {
    scala.Option<
            scala.Tuple4<
                scala.collection.immutable.Seq<NamedExpression>,
                scala.collection.immutable.Seq<Expression>,
                scala.collection.immutable.Seq<Expression>,
                LogicalPlan>>
        found = ScanOperation$.MODULE$.unapply(plan);
    if (found.isEmpty()) return false;
    Long read = bytes.get(((scala.Tuple4<?, ?, ?, ?>) found.get())._4());
    return read != null && read.longValue() <= filesMax;
  }
}
