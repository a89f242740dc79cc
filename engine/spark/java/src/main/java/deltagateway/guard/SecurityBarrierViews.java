package deltagateway.guard;

import static deltagateway.internals.ScalaConversions.list;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.security.SecureRandom;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTVFAliases;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LateralSubquery;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.InnerLike;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sample$;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import scala.Option;

/**
 * Barriers above views whose tables the reader may not read. The optimizer moves conditions of the
 * query into such a view, which is how few files are found; a condition that may fail would fail on
 * rows that the view filters out, and its error would reveal them.
 *
 * <p>Such a view is analyzed below a barrier. After the analysis of the whole query, the barriers
 * are removed if nothing that could be moved into a view may fail: if the query filters nothing, or
 * if all expressions in it, and in the lists of the views, are of kinds that never fail.
 */
public final class SecurityBarrierViews {
  /** Seed of the samples that are barriers. It is secret, so that no query can write one. */
  private static final long SEED = new SecureRandom().nextLong();

  private static final long LATERAL_SEED = SEED + 1;

  /** Operators that remove no row by an expression, and compare no rows. */
  private static final Set<String> FILTERLESS =
      names(
          "Aggregate CTERelationDef CTERelationRef Distinct Expand GlobalLimit LimitAll LocalLimit"
              + " LocalRelation LogicalRelation Offset OneRowRelation Project Range Repartition"
              + " ResolvedHint ResolvedInlineTable Sample Sort SubqueryAlias Tail Union View"
              + " WithCTE");

  /** Expressions that have a value, or NULL, for all values of their children. */
  private static final Set<String> SAFE =
      names(
          "Alias And Between CaseWhen Coalesce CommonExpressionDef CommonExpressionRef Contains"
              + " CurrentDate CurrentTimestamp CurrentUser DayOfMonth EndsWith EqualNullSafe"
              + " EqualTo Exists GetStructField GreaterThan GreaterThanOrEqual If In InSet"
              + " InSubquery IsNotNull IsNull Length LessThan LessThanOrEqual ListQuery Lower Month"
              + " Not Now Or OuterReference ScalarSubquery SortOrder StartsWith StringTrim"
              + " Substring Upper With Year");

  private boolean filters;
  private boolean mayFail;

  private SecurityBarrierViews() {}

  /** Returns the rows of a view below a barrier. */
  public static LogicalPlan mark(LogicalPlan rows) {
    return barrier(SEED, rows);
  }

  private static LogicalPlan barrier(long seed, LogicalPlan rows) {
    return Sample$.MODULE$.apply(0.0, 1.0, false, seed, rows);
  }

  /**
   * Returns a lateral join of a table function below a barrier with the barrier above the join:
   * below a sample, Spark allows no columns from outside. A condition of an outer join is rejected,
   * because it may be evaluated on rows that the function filters out.
   */
  public static LogicalPlan aroundLateral(LateralJoin join) {
    LogicalPlan right = join.right().plan();
    if (!isCall(right)) return join;
    LateralSubquery call = join.right().withNewPlan(withoutBarrier(right));
    Option<Expression> condition = join.condition();
    boolean isUnconditional = condition.isEmpty() || condition.get().equals(Literal.TrueLiteral());
    if (!isUnconditional && !(join.joinType() instanceof InnerLike))
      throw new RejectionException("lateral condition", "");
    LogicalPlan joined =
        new LateralJoin(join.left(), call, join.joinType(), ScalaConversions.none());
    LogicalPlan marked = barrier(LATERAL_SEED, joined);
    return isUnconditional ? marked : new Filter(condition.get(), marked);
  }

  /** Returns true for the rows of a call below a barrier, under any aliases. */
  private static boolean isCall(LogicalPlan plan) {
    boolean isAlias = plan instanceof SubqueryAlias || plan instanceof UnresolvedTVFAliases;
    return isAlias ? isCall(plan.children().head()) : isMarked(plan);
  }

  private static LogicalPlan withoutBarrier(LogicalPlan call) {
    LogicalPlan child = call.children().head();
    if (isMarked(call)) return child;
    return call.withNewChildren(ScalaConversions.one(withoutBarrier(child)));
  }

  /** Returns an analyzed query without the barriers that it does not need. */
  public static LogicalPlan removeUnneeded(LogicalPlan query) {
    SecurityBarrierViews views = new SecurityBarrierViews();
    views.visit(query, false);
    if (views.filters && views.mayFail) return query;
    return query.transformUpWithSubqueries(
        ScalaConversions.<LogicalPlan>rewrite(
            node -> isMarked(node) ? ((Sample) node).child() : node));
  }

  static boolean isMarked(LogicalPlan plan) {
    return hasSeed(plan, SEED) || isAroundLateral(plan);
  }

  /** Returns true for a barrier above a lateral join, whose left side is the caller's own. */
  static boolean isAroundLateral(LogicalPlan plan) {
    return hasSeed(plan, LATERAL_SEED);
  }

  private static boolean hasSeed(LogicalPlan plan, long seed) {
    return plan instanceof Sample sample
        && sample.seed().contains(seed)
        && sample.lowerBound() == 0
        && sample.upperBound() == 1;
  }

  /**
   * Visits a plan. A view's own conditions run before those of the query and may fail; the
   * expressions of its lists replace the names of its columns in conditions of the query.
   */
  private void visit(LogicalPlan plan, boolean isInView) {
    boolean isBelow = isInView || isMarked(plan);
    if (!isBelow && !FILTERLESS.contains(plan.getClass().getSimpleName())) filters = true;
    boolean isConditionOfView = isBelow && !(plan instanceof Project || plan instanceof Aggregate);
    for (Expression expression : list(plan.expressions()))
      visit(expression, isConditionOfView, isBelow);
    for (LogicalPlan child : list(plan.children())) visit(child, isBelow);
  }

  private void visit(Expression expression, boolean isConditionOfView, boolean isBelow) {
    if (expression instanceof SubqueryExpression subquery) {
      if (!isBelow) filters = true;
      visit(subquery.plan(), isBelow);
    }
    if (expression.foldable() && hasValue(expression)) return; // it depends on no row
    // No condition of rows can be about the groups of an aggregate function.
    boolean mayRunFirst = isConditionOfView || expression instanceof AggregateExpression;
    // A scalar subquery that reads columns from outside fails if it finds two rows.
    boolean isCorrelated = expression instanceof ScalarSubquery && !expression.children().isEmpty();
    if (isCorrelated && !isConditionOfView || !mayRunFirst && !isSafe(expression)) mayFail = true;
    for (Expression child : list(expression.children())) visit(child, mayRunFirst, isBelow);
  }

  /** Returns false for a constant that fails: the optimizer does not evaluate it before a row. */
  private static boolean hasValue(Expression expression) {
    try {
      expression.eval(InternalRow$.MODULE$.empty());
      return true;
    } catch (Exception failure) {
      return false;
    }
  }

  private static boolean isSafe(Expression expression) {
    if (expression instanceof Attribute || expression instanceof Literal) return true;
    if (expression instanceof Cast cast)
      return Cast$.MODULE$.canUpCast(cast.child().dataType(), cast.dataType());
    if (expression instanceof Like like) return like.right() instanceof Literal;
    return SAFE.contains(expression.getClass().getSimpleName());
  }

  private static Set<String> names(String text) {
    return Set.of(text.split(" "));
  }
}
