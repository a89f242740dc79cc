package deltagateway.guard;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
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
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
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

/**
 * Views whose tables the reader may not read. The optimizer moves conditions of the query into
 * them, which is what finds few files; a condition that may fail would then fail on rows that the
 * view leaves out, and its error tell of them.
 *
 * <p>Such a view is analyzed below a barrier. Once the whole query is analyzed, the barriers go
 * where nothing that could be moved into a view may fail: where the query filters nothing, or all
 * expressions in it, and in the lists of the views, are of kinds that never fail.
 */
public final class SecurityBarrierViews extends scala.runtime.AbstractPartialFunction {
  /**
   * What tells such a barrier from others, and from the samples that a query may take: nobody can
   * know it.
   */
  private static final long SEED = new SecureRandom().nextLong();

  private static final long LATERAL_SEED = SEED + 1;

  /** Operators that take no row out by an expression, and compare none with others. */
  private static final Set<String> FILTERLESS =
      names(
          "Aggregate CTERelationDef CTERelationRef Distinct Expand GlobalLimit LimitAll LocalLimit"
              + " LocalRelation LogicalRelation Offset OneRowRelation Project Range Repartition"
              + " ResolvedHint ResolvedInlineTable Sample Sort SubqueryAlias Tail Union View"
              + " WithCTE");

  /** Expressions that give a value, or null, for all values of their children. */
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

  public static LogicalPlan marked(LogicalPlan rows) {
    return Sample$.MODULE$.apply(0.0, 1.0, false, SEED, rows);
  }

  /**
   * A lateral join of a call of a table function below a barrier, with the barrier above the join:
   * below it, Spark allows no columns from outside. A condition of an outer join may be about rows
   * that the function leaves out.
   */
  public static LogicalPlan aroundLateral(LateralJoin join) {
    LogicalPlan right = join.right().plan();
    if (!isCall(right)) return join;
    LateralSubquery open = join.right().withNewPlan(opened(right));
    boolean isInner = join.joinType() instanceof InnerLike;
    boolean isPlain =
        join.condition().isEmpty() || join.condition().get().equals(Literal.TrueLiteral());
    if (!isInner && !isPlain) throw new RejectionException("lateral condition", "");
    LogicalPlan joined =
        new LateralJoin(join.left(), open, join.joinType(), ScalaConversions.none());
    LogicalPlan marked = Sample$.MODULE$.apply(0.0, 1.0, false, LATERAL_SEED, joined);
    return isPlain ? marked : new Filter(join.condition().get(), marked);
  }

  /** Is it the rows of a call alone, under some alias? */
  private static boolean isCall(LogicalPlan plan) {
    if (plan instanceof SubqueryAlias || plan instanceof UnresolvedTVFAliases) {
      return isCall(plan.children().apply(0));
    }
    return isMarked(plan);
  }

  /** The rows of a call without the barrier that they are below. */
  private static LogicalPlan opened(LogicalPlan call) {
    LogicalPlan child = call.children().apply(0);
    if (isMarked(call)) return child;
    return call.withNewChildren(ScalaConversions.seq(Arrays.asList(opened(child))));
  }

  /** An analyzed query without the barriers that it does not need. */
  public static LogicalPlan settled(LogicalPlan query) {
    SecurityBarrierViews views = new SecurityBarrierViews();
    views.look(query, false);
    return views.filters && views.mayFail ? query : query.transformUpWithSubqueries(views);
  }

  public boolean isDefinedAt(Object node) {
    return isMarked(node);
  }

  /** Is it the barrier above the rows of such a view? */
  static boolean isMarked(Object node) {
    if (!(node instanceof Sample)) return false;
    Sample sample = (Sample) node;
    boolean isOwn =
        sample.seed().contains(Long.valueOf(SEED))
            || sample.seed().contains(Long.valueOf(LATERAL_SEED));
    return isOwn && sample.lowerBound() == 0 && sample.upperBound() == 1;
  }

  /** Is it a barrier above a lateral join, whose left side is the caller's own? */
  static boolean isAroundLateral(LogicalPlan plan) {
    return isMarked(plan) && ((Sample) plan).seed().contains(Long.valueOf(LATERAL_SEED));
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    return isDefinedAt(node) ? ((Sample) node).child() : otherwise.apply(node);
  }

  /**
   * A view's own conditions come first, whatever they are; its lists take the place of the names of
   * its columns.
   */
  private void look(LogicalPlan plan, boolean isInView) {
    boolean isBelow = isInView || isDefinedAt(plan);
    if (!isBelow && !FILTERLESS.contains(plan.getClass().getSimpleName())) filters = true;
    boolean isOwn = isBelow && !(plan instanceof Project || plan instanceof Aggregate);
    for (Iterator<Expression> all = ScalaConversions.list(plan.expressions()).iterator();
        all.hasNext(); ) {
      look(all.next(), isOwn, isBelow);
    }
    for (Iterator<LogicalPlan> all = ScalaConversions.list(plan.children()).iterator();
        all.hasNext(); ) {
      look(all.next(), isBelow);
    }
  }

  private void look(Expression expression, boolean isOwn, boolean isBelow) {
    if (expression instanceof PlanExpression) {
      if (!isBelow) filters = true;
      look(((PlanExpression<LogicalPlan>) expression).plan(), isBelow);
    }
    if (expression.foldable() && hasValue(expression)) return; // of no row
    // One that reads columns from outside fails where it finds two rows.
    if (!isOwn
        && expression instanceof ScalarSubquery
        && !ScalaConversions.list(expression.children()).isEmpty()) mayFail = true;
    isOwn |=
        expression
            instanceof AggregateExpression; // of groups, which no condition of rows can be about
    if (!isOwn && !isSafe(expression)) mayFail = true;
    for (Iterator<Expression> all = ScalaConversions.list(expression.children()).iterator();
        all.hasNext(); ) {
      look(all.next(), isOwn, isBelow);
    }
  }

  /**
   * A constant that fails is left where it is by the optimizer, and fails for the rows that reach
   * it.
   */
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
    if (expression instanceof Cast) {
      Cast cast = (Cast) expression;
      return Cast$.MODULE$.canUpCast(cast.child().dataType(), cast.dataType());
    }
    if (expression instanceof Like) return ((Like) expression).right() instanceof Literal;
    return SAFE.contains(expression.getClass().getSimpleName());
  }

  private static Set<String> names(String text) {
    return new HashSet<>(Arrays.asList(text.split(" ")));
  }
}
