package deltagateway.analysis;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * What makes the values of an analyzed query depend on more than one row of its relations: for each
 * kind the first expression found, as SQL. Where a rule of a table may only look at one row, such
 * expressions are refused.
 */
public final class CrossRowExpressions {
  static final Set<String> CLOCK =
      set(
          new String[] {
            "CurrentBatchTimestamp",
            "CurrentDate",
            "CurrentTime",
            "CurrentTimestamp",
            "CurrentTimestampNanos",
            "CurrentTimestampPrecision",
            "LocalTimestamp",
            "LocalTimestampNanos",
            "Now",
          });
  static final Set<String> SESSION =
      set(
          new String[] {
            "CurrentCatalog", "CurrentDatabase", "CurrentPath", "CurrentTimeZone", "CurrentUser",
          });

  private final ObjectNode found = StatementRequest.JSON.createObjectNode();

  private CrossRowExpressions() {}

  /** Kind (as `Dependency` in Python spells it) to SQL. */
  public static ObjectNode of(LogicalPlan analyzed) {
    CrossRowExpressions traits = new CrossRowExpressions();
    traits.visit(analyzed);
    return traits.found;
  }

  private static Set<String> set(String[] names) {
    return new HashSet<>(Arrays.asList(names));
  }

  private void visit(LogicalPlan plan) {
    List<Expression> expressions = ScalaConversions.list(plan.expressions());
    for (int i = 0; i < expressions.size(); i++) visit(expressions.get(i));
    List<LogicalPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) visit(children.get(i));
  }

  /**
   * True where `expression`, or something in it, is not deterministic: the innermost is the one to
   * blame.
   */
  private boolean visit(Expression expression) {
    if (expression instanceof WindowExpression) add("window", expression);
    if (expression instanceof AggregateExpression) add("aggregate", expression);
    if (expression instanceof Generator) add("generator", expression);
    String name = expression.getClass().getSimpleName();
    if (CLOCK.contains(name)) add("clock", expression);
    if (SESSION.contains(name)) add("session", expression);
    boolean isBlamed = false;
    List<Expression> children = ScalaConversions.list(expression.children());
    for (int i = 0; i < children.size(); i++) isBlamed |= visit(children.get(i));
    if (!isBlamed && !expression.deterministic()) {
      add("non_deterministic", expression);
      isBlamed = true;
    }
    return isBlamed;
  }

  private void add(String kind, Expression expression) {
    if (!found.has(kind)) found.put(kind, expression.sql());
  }
}
