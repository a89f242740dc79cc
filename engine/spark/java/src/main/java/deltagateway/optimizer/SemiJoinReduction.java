package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.planning.ScanOperation$;
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
import scala.collection.immutable.Seq;

/**
 * Groups that are joined by their key with few rows are made of the rows with those keys alone: `l
 * JOIN (SELECT k, min(x) FROM r GROUP BY k) ON l.k = r.k` needs none of the others, whether the
 * query says so or Spark makes it of a correlated subquery (TPC-H 2, 17 and 20). The rows under the
 * groups are joined (left semi) with the filtered scan from which the other side has its keys, so
 * that a group has all of its rows or none.
 *
 * <p>That scan has to be small enough to be broadcast by what is known, not guessed, of it. The
 * joins of the other side broadcast it too, mostly, and adaptive execution makes but one of the
 * two: it costs one look into a hash table a row. It is known as semi-join reduction; Spark's own
 * runtime filters do it with another job that makes a Bloom filter.
 */
public final class SemiJoinReduction extends scala.runtime.AbstractPartialFunction {
  /** Rows under the groups: fewer are soon grouped. */
  private static final long ROWS_MIN = 100_000;

  /**
   * Where it is known how many rows the scan leaves, those under the groups have to be so many
   * times more.
   */
  private static final long TIMES_FEWER = 4;

  private final long broadcastMax;

  private SemiJoinReduction(long broadcastMax) {
    this.broadcastMax = broadcastMax;
  }

  /**
   * An optimized plan with such groups; itself where there are none. To be asked where the
   * statement plans by cost.
   */
  public static LogicalPlan in(LogicalPlan optimized, long broadcastMax) {
    return optimized.transformDownWithSubqueries(new SemiJoinReduction(broadcastMax));
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Join;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    Join join = (Join) node;
    JoinType type = join.joinType();
    LogicalPlan left = join.left();
    LogicalPlan right = join.right();
    List<Expression>[] keys = keys(join);
    if (keys == null) return join;
    for (int i = 0; i < keys[0].size(); i++) {
      Expression onLeft = keys[0].get(i);
      Expression onRight = keys[1].get(i);
      if (!isKey(onLeft) || !onLeft.dataType().equals(onRight.dataType()) || !isKey(onRight))
        continue;
      if (right == join.right() && (type == Inner$.MODULE$ || type == LeftOuter$.MODULE$)) {
        right = ofFew(right, (Attribute) onRight, left, (Attribute) onLeft);
      }
      if (left == join.left() && right == join.right() && type == Inner$.MODULE$) {
        left = ofFew(left, (Attribute) onLeft, right, (Attribute) onRight);
      }
    }
    if (left == join.left() && right == join.right()) return join;
    return join.copy(left, right, type, join.condition(), join.hint());
  }

  /** Those of the left and of the right side, that are equal; null where there are none. */
  private static List<Expression>[] keys(Join join) {
    scala.Option found = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (found.isEmpty()) return null;
    scala.Tuple8 keys = (scala.Tuple8) found.get();
    return new List[] {
      ScalaConversions.list((scala.collection.Seq<?>) keys._2()),
      ScalaConversions.list((scala.collection.Seq<?>) keys._3())
    };
  }

  /** Values that are equal only if they are the same. */
  private static boolean isKey(Expression key) {
    DataType type = key.dataType();
    boolean isExact =
        type instanceof IntegralType
            || type instanceof DateType
            || type.equals(StringType$.MODULE$);
    return key instanceof AttributeReference && isExact;
  }

  /**
   * The groups with the rows under them that `other`, by a column of it, leaves; the same where
   * that is not known.
   */
  private LogicalPlan ofFew(
      LogicalPlan groups, Attribute key, LogicalPlan other, Attribute column) {
    if (groups instanceof Filter || groups instanceof Project) {
      LogicalPlan child = groups.children().head();
      Attribute origin = origin(groups, key);
      LogicalPlan fewer = origin == null ? child : ofFew(child, origin, other, column);
      return fewer == child ? groups : with(groups, fewer);
    }
    if (!(groups instanceof Aggregate)) return groups;
    Aggregate plan = (Aggregate) groups;
    Attribute grouped = origin(plan.aggregateExpressions(), key);
    if (grouped == null || !isAmong(plan.groupingExpressions(), grouped)) return groups;
    scala.Option<scala.math.BigInt> rows = plan.child().stats().rowCount();
    if (rows.isEmpty() || rows.get().toDouble() < ROWS_MIN) return groups;
    Object[] few = few(other, column, rows.get().toDouble() / TIMES_FEWER);
    if (few == null) return groups;
    LogicalPlan fewer = joined(plan.child(), grouped, (LogicalPlan) few[0], (Attribute) few[1]);
    return fewer == plan.child() ? groups : with(plan, fewer);
  }

  private static boolean isAmong(Seq<Expression> expressions, Attribute column) {
    for (int i = 0; i < expressions.size(); i++) {
      if (expressions.apply(i).semanticEquals(column)) return true;
    }
    return false;
  }

  private static LogicalPlan with(LogicalPlan plan, LogicalPlan child) {
    return plan.withNewChildren(ScalaConversions.seq(Arrays.asList(child)));
  }

  /** The column of the plan's child that one of it is; null where it is made of others. */
  private static Attribute origin(LogicalPlan plan, Attribute column) {
    return plan instanceof Project ? origin(((Project) plan).projectList(), column) : column;
  }

  private static Attribute origin(Seq<NamedExpression> expressions, Attribute column) {
    for (int i = 0; i < expressions.size(); i++) {
      NamedExpression each = expressions.apply(i);
      if (!each.exprId().equals(column.exprId())) continue;
      Expression origin = each instanceof Alias ? ((Alias) each).child() : (Expression) each;
      return origin instanceof AttributeReference ? (Attribute) origin : null;
    }
    return null;
  }

  /**
   * A filtered scan, and its column among whose values are all those of a column of the plan; null
   * where none is known. Joins that keep rows without a match pass on those of one side only.
   */
  private Object[] few(LogicalPlan plan, Attribute column, double rowsMax) {
    if (isFew(plan, rowsMax)) return new Object[] {plan, column};
    if (plan instanceof Filter || plan instanceof Project) {
      Attribute origin = origin(plan, column);
      return origin == null ? null : few(plan.children().head(), origin, rowsMax);
    }
    if (!(plan instanceof Join)) return null;
    Join join = (Join) plan;
    boolean isInner = join.joinType() == Inner$.MODULE$;
    boolean isSemi = join.joinType() == LeftSemi$.MODULE$;
    Object[] found = null;
    if (isInner || isSemi || join.joinType() == LeftOuter$.MODULE$)
      found = within(join.left(), column, rowsMax);
    if (found == null && isInner) found = within(join.right(), column, rowsMax);
    List<Expression>[] keys = found == null && (isInner || isSemi) ? keys(join) : null;
    for (int i = 0; keys != null && found == null && i < keys[0].size(); i++) {
      Expression onLeft = keys[0].get(i);
      Expression onRight = keys[1].get(i);
      if (onLeft.semanticEquals(column) && isKey(onRight))
        found = within(join.right(), (Attribute) onRight, rowsMax);
      else if (onRight.semanticEquals(column) && isKey(onLeft))
        found = within(join.left(), (Attribute) onLeft, rowsMax);
    }
    return found;
  }

  private Object[] within(LogicalPlan plan, Attribute column, double rowsMax) {
    return plan.outputSet().contains(column) ? few(plan, column, rowsMax) : null;
  }

  /**
   * A scan of ours with a filter that leaves few rows, which surely can be broadcast, and is the
   * same each time.
   */
  private boolean isFew(LogicalPlan plan, double rowsMax) {
    scala.Option found = ScanOperation$.MODULE$.unapply(plan);
    if (found.isEmpty() || !RemainingFiles.isOurs(((scala.Tuple4) found.get())._4())) return false;
    List filters = ScalaConversions.list((scala.collection.Seq) ((scala.Tuple4) found.get())._3());
    if (!EstimatedFilters.haveSelective(filters)) return false;
    if (plan.stats().sizeInBytes().toDouble() > broadcastMax) return false;
    scala.Option rows = plan.stats().rowCount();
    if (rows.isDefined() && ((scala.math.BigInt) rows.get()).toDouble() > rowsMax) return false;
    return isSame(plan);
  }

  private static boolean isSame(LogicalPlan plan) {
    List<Expression> expressions = ScalaConversions.list(plan.expressions());
    for (int i = 0; i < expressions.size(); i++) {
      Expression each = expressions.get(i);
      if (!each.deterministic() || SubqueryExpression.hasSubquery(each)) return false;
    }
    List<LogicalPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) if (!isSame(children.get(i))) return false;
    return true;
  }

  /** The rows of the plan that have a match, as far below its inner joins as the column is. */
  private static LogicalPlan joined(
      LogicalPlan plan, Attribute column, LogicalPlan few, Attribute key) {
    if (plan instanceof Project || plan instanceof Filter) {
      LogicalPlan child = plan.children().head();
      Attribute origin = origin(plan, column);
      boolean hasJoin = origin != null && child instanceof Join;
      LogicalPlan fewer = hasJoin ? joined(child, origin, few, key) : child;
      if (fewer != child) return with(plan, fewer);
    }
    if (plan instanceof Join && ((Join) plan).joinType() == Inner$.MODULE$) {
      Join join = (Join) plan;
      boolean onLeft = join.left().outputSet().contains(column);
      LogicalPlan side = joined(onLeft ? join.left() : join.right(), column, few, key);
      if (side == (onLeft ? join.left() : join.right())) return plan;
      return join.copy(
          onLeft ? side : join.left(),
          onLeft ? join.right() : side,
          join.joinType(),
          join.condition(),
          join.hint());
    }
    boolean isJoined = plan instanceof Join && ((Join) plan).right().sameResult(few);
    if (isJoined || plan.outputSet().intersect(few.outputSet()).nonEmpty()) return plan;
    scala.Option<Expression> condition = new scala.Some<>(new EqualTo(column, key));
    return new Join(plan, few, LeftSemi$.MODULE$, condition, JoinHint$.MODULE$.NONE());
  }
}
