package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Expressions that make the values of an analyzed query depend on more than one row of its
 * relations: for each kind the first one, as SQL. Constraints and policies of a table, which are
 * evaluated for one row, may have none.
 */
public final class CrossRowExpressions {
  /** Simple names of the classes of functions of the current time. */
  static final Set<String> CLOCK =
      Set.of(
          "CurrentBatchTimestamp",
          "CurrentDate",
          "CurrentTime",
          "CurrentTimestamp",
          "CurrentTimestampNanos",
          "CurrentTimestampPrecision",
          "LocalTimestamp",
          "LocalTimestampNanos",
          "Now");

  /** Simple names of the classes of functions of the session. */
  static final Set<String> SESSION =
      Set.of("CurrentCatalog", "CurrentDatabase", "CurrentPath", "CurrentTimeZone", "CurrentUser");

  private final ObjectNode firstOfKind = StatementRequest.JSON.createObjectNode();

  private CrossRowExpressions() {}

  /** Returns SQL by kind; the kinds are spelled as `Dependency` in Python spells them. */
  public static ObjectNode of(LogicalPlan analyzed) {
    CrossRowExpressions expressions = new CrossRowExpressions();
    expressions.visit(analyzed);
    return expressions.firstOfKind;
  }

  private void visit(LogicalPlan plan) {
    for (Expression expression : list(plan.expressions())) visit(expression);
    for (LogicalPlan child : list(plan.children())) visit(child);
  }

  /**
   * Returns true if the expression is not deterministic; the innermost such expression is the one
   * that is reported.
   */
  private boolean visit(Expression expression) {
    if (expression instanceof WindowExpression) add("window", expression);
    if (expression instanceof AggregateExpression) add("aggregate", expression);
    if (expression instanceof Generator) add("generator", expression);
    String name = expression.getClass().getSimpleName();
    if (CLOCK.contains(name)) add("clock", expression);
    if (SESSION.contains(name)) add("session", expression);
    boolean isReported = false;
    for (Expression child : list(expression.children())) isReported |= visit(child);
    if (isReported || expression.deterministic()) return isReported;
    add("non_deterministic", expression);
    return true;
  }

  private void add(String kind, Expression expression) {
    if (!firstOfKind.has(kind)) firstOfKind.put(kind, expression.sql());
  }
}
