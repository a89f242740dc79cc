package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.rewrite;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType$;
import scala.Some;
import scala.collection.immutable.Seq;

/**
 * Aggregates only the rows of groups that a join needs: `l JOIN (SELECT k, min(x) FROM r GROUP BY
 * k) ON l.k = r.k` needs no group whose key is not in l, whether the query is written so or Spark
 * makes it of a correlated subquery (TPC-H 2, 17 and 20). The rows below the aggregate are joined
 * (left semi) with the filtered scan that the keys of the other side come from, so a group has all
 * of its rows or none.
 *
 * <p>The scan must be small enough to be broadcast by statistics, not by a guess. The joins of the
 * other side usually broadcast it too, and adaptive execution reuses that exchange, so the cost is
 * one hash lookup per row. Spark's own runtime filters run another job that makes a Bloom filter.
 *
 * <p>It applies to statements that plan by cost.
 */
public final class SemiJoinReduction extends SwitchedRule<LogicalPlan> {
  /** Fewer rows below an aggregate are grouped quickly enough. */
  private static final long ROWS_MIN = 100_000;

  /** Minimum ratio of the rows below the aggregate and those of the scan, if these are known. */
  private static final long RATIO_MIN = 4;

  private final long broadcastMax;

  /** `broadcastMax` is the broadcast threshold in bytes. */
  public SemiJoinReduction(long broadcastMax) {
    super(OptimizerRule.SEMI_JOIN_REDUCTION);
    this.broadcastMax = broadcastMax;
  }

  /** A filtered scan, and the column that has all values of another plan's column. */
  private record KeySource(LogicalPlan scan, Attribute key) {}

  @Override
  LogicalPlan rewritePlan(LogicalPlan optimized) {
    return optimized.transformDownWithSubqueries(
        rewrite(plan -> plan instanceof Join join ? rewriteJoin(join) : plan));
  }

  private Join rewriteJoin(Join join) {
    EquiJoinKeys keys = EquiJoinKeys.of(join);
    if (keys == null) return join;
    JoinType type = join.joinType();
    LogicalPlan left = join.left();
    LogicalPlan right = join.right();
    for (int i = 0; i < keys.left().size(); i++) {
      Attribute onLeft = key(keys.left().get(i));
      Attribute onRight = key(keys.right().get(i));
      if (onLeft == null || onRight == null || !onLeft.dataType().equals(onRight.dataType())) {
        continue;
      }
      if (right == join.right() && (type == Inner$.MODULE$ || type == LeftOuter$.MODULE$)) {
        right = reduced(right, onRight, left, onLeft);
      }
      if (left == join.left() && right == join.right() && type == Inner$.MODULE$) {
        left = reduced(left, onLeft, right, onRight);
      }
    }
    if (left == join.left() && right == join.right()) return join;
    return join.copy(left, right, type, join.condition(), join.hint());
  }

  /** Returns a column whose equal values are identical; null for other expressions. */
  private static Attribute key(Expression key) {
    DataType type = key.dataType();
    boolean isExact =
        type instanceof IntegralType
            || type instanceof DateType
            || type.equals(StringType$.MODULE$);
    return isExact && key instanceof AttributeReference column ? column : null;
  }

  /**
   * Returns the groups by `key` with only the rows that `column` of the other side needs; the plan
   * itself if it is no aggregate, or nothing reduces it.
   */
  private LogicalPlan reduced(
      LogicalPlan groups, Attribute key, LogicalPlan other, Attribute column) {
    if (groups instanceof Filter || groups instanceof Project) {
      LogicalPlan child = groups.children().head();
      Attribute origin = origin(groups, key);
      LogicalPlan fewer = origin == null ? child : reduced(child, origin, other, column);
      return fewer == child ? groups : groups.withNewChildren(one(fewer));
    }
    if (!(groups instanceof Aggregate aggregate)) return groups;
    Attribute grouped = origin(aggregate.aggregateExpressions(), key);
    if (grouped == null || !isAmong(aggregate.groupingExpressions(), grouped)) return groups;
    var rows = aggregate.child().stats().rowCount();
    if (rows.isEmpty() || rows.get().toDouble() < ROWS_MIN) return groups;
    KeySource source = keySource(other, column, rows.get().toDouble() / RATIO_MIN);
    if (source == null) return groups;
    LogicalPlan fewer = semiJoined(aggregate.child(), grouped, source);
    return fewer == aggregate.child() ? groups : groups.withNewChildren(one(fewer));
  }

  private static boolean isAmong(Seq<Expression> expressions, Attribute column) {
    return list(expressions).stream().anyMatch(each -> each.semanticEquals(column));
  }

  /** Returns the column of the plan's child that one of its own is; null if it is computed. */
  private static Attribute origin(LogicalPlan plan, Attribute column) {
    return plan instanceof Project project ? origin(project.projectList(), column) : column;
  }

  private static Attribute origin(Seq<NamedExpression> expressions, Attribute column) {
    for (NamedExpression each : list(expressions)) {
      if (!each.exprId().equals(column.exprId())) continue;
      Object origin = each instanceof Alias alias ? alias.child() : each;
      return origin instanceof AttributeReference reference ? reference : null;
    }
    return null;
  }

  /**
   * Returns the source of the values of a column; null if none is known. An outer join passes on
   * the rows of one side only.
   */
  private KeySource keySource(LogicalPlan plan, Attribute column, double rowsMax) {
    if (isSmallScan(plan, rowsMax)) return new KeySource(plan, column);
    if (plan instanceof Filter || plan instanceof Project) {
      Attribute origin = origin(plan, column);
      return origin == null ? null : keySource(plan.children().head(), origin, rowsMax);
    }
    if (!(plan instanceof Join join)) return null;
    boolean isInner = join.joinType() == Inner$.MODULE$;
    boolean isSemi = join.joinType() == LeftSemi$.MODULE$;
    KeySource found = null;
    if (isInner || isSemi || join.joinType() == LeftOuter$.MODULE$) {
      found = sourceWithin(join.left(), column, rowsMax);
    }
    if (found == null && isInner) found = sourceWithin(join.right(), column, rowsMax);
    return found == null && (isInner || isSemi) ? sourceOfEqual(join, column, rowsMax) : found;
  }

  /** Returns the source of a column that the join compares with this one. */
  private KeySource sourceOfEqual(Join join, Attribute column, double rowsMax) {
    EquiJoinKeys keys = EquiJoinKeys.of(join);
    KeySource found = null;
    for (int i = 0; keys != null && found == null && i < keys.left().size(); i++) {
      Attribute onLeft = key(keys.left().get(i));
      Attribute onRight = key(keys.right().get(i));
      if (onRight != null && keys.left().get(i).semanticEquals(column)) {
        found = sourceWithin(join.right(), onRight, rowsMax);
      } else if (onLeft != null && keys.right().get(i).semanticEquals(column)) {
        found = sourceWithin(join.left(), onLeft, rowsMax);
      }
    }
    return found;
  }

  private KeySource sourceWithin(LogicalPlan plan, Attribute column, double rowsMax) {
    return plan.outputSet().contains(column) ? keySource(plan, column, rowsMax) : null;
  }

  /**
   * Returns whether the plan is a selectively filtered scan that can be broadcast, and returns the
   * same rows each time.
   */
  private boolean isSmallScan(LogicalPlan plan, double rowsMax) {
    FilteredRelation scan = FilteredRelation.of(plan);
    if (scan == null || !EstimatedFilters.haveSelective(scan.filters())) return false;
    if (plan.stats().sizeInBytes().toDouble() > broadcastMax) return false;
    var rows = plan.stats().rowCount();
    return (rows.isEmpty() || rows.get().toDouble() <= rowsMax) && isDeterministic(plan);
  }

  private static boolean isDeterministic(LogicalPlan plan) {
    return list(plan.expressions()).stream()
            .allMatch(each -> each.deterministic() && !SubqueryExpression.hasSubquery(each))
        && list(plan.children()).stream().allMatch(SemiJoinReduction::isDeterministic);
  }

  /** Returns the rows of the plan with a match, joined as far below its inner joins as possible. */
  private static LogicalPlan semiJoined(LogicalPlan plan, Attribute column, KeySource source) {
    if (plan instanceof Project || plan instanceof Filter) {
      LogicalPlan child = plan.children().head();
      Attribute origin = origin(plan, column);
      if (origin != null && child instanceof Join) {
        LogicalPlan fewer = semiJoined(child, origin, source);
        if (fewer != child) return plan.withNewChildren(one(fewer));
      }
    }
    if (plan instanceof Join join && join.joinType() == Inner$.MODULE$) {
      boolean isLeft = join.left().outputSet().contains(column);
      LogicalPlan side = isLeft ? join.left() : join.right();
      LogicalPlan fewer = semiJoined(side, column, source);
      return fewer == side ? plan : withSide(join, fewer, isLeft);
    }
    boolean isJoined = plan instanceof Join join && join.right().sameResult(source.scan());
    if (isJoined || plan.outputSet().intersect(source.scan().outputSet()).nonEmpty()) return plan;
    var condition = new Some<Expression>(new EqualTo(column, source.key()));
    return new Join(plan, source.scan(), LeftSemi$.MODULE$, condition, JoinHint$.MODULE$.NONE());
  }

  private static Join withSide(Join join, LogicalPlan side, boolean isLeft) {
    return join.copy(
        isLeft ? side : join.left(),
        isLeft ? join.right() : side,
        join.joinType(),
        join.condition(),
        join.hint());
  }
}
