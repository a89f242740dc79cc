package deltagateway.analysis;

import deltagateway.internals.TreeVisitor;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Volatility of an analyzed query: if it has the same answer again over the same files, under the
 * same settings. "always"; "session" if the answer also depends on the user and on the current
 * schema; "never" if it depends on the time or on chance.
 *
 * <p>Spark's optimizer evaluates casts of texts such as 'today' to dates, so casts of constant
 * texts are examined here. (The parser evaluates a typed literal, DATE 'today':
 * engine/sql/query/equal_texts.py. The analyzer evaluates some arguments: {@link
 * ParsedVolatility}.)
 */
public final class Volatility extends TreeVisitor {
  public static final String ALWAYS = "always";
  static final String SESSION = "session";
  public static final String NEVER = "never";

  private static final List<String> TIMES = List.of("now", "today", "tomorrow", "yesterday");

  private boolean isVolatile;
  private boolean dependsOnSession;

  private Volatility() {}

  public static String of(LogicalPlan analyzed) {
    Volatility visitor = new Volatility();
    visitor.visit(analyzed);
    if (visitor.isVolatile) return NEVER;
    return visitor.dependsOnSession ? SESSION : ALWAYS;
  }

  /** Returns the volatility of a query that has parts of these two. */
  public static String both(String one, String other) {
    if (one.equals(NEVER) || other.equals(NEVER)) return NEVER;
    return one.equals(SESSION) || other.equals(SESSION) ? SESSION : ALWAYS;
  }

  @Override
  public void visit(TreeNode<?> node) {
    if (isVolatile || node instanceof LogicalRelation) return;
    if (node instanceof Sample sample) isVolatile |= !isWhole(sample);
    if (node instanceof Expression expression) visitExpression(expression);
    visitFields(node);
  }

  private void visitExpression(Expression expression) {
    String name = expression.getClass().getSimpleName();
    isVolatile |= !expression.deterministic() || CrossRowExpressions.CLOCK.contains(name);
    dependsOnSession |= CrossRowExpressions.SESSION.contains(name);
    if (expression instanceof Cast cast) isVolatile |= isTime(cast);
    // The expression that replaces a function is not among its fields.
    if (expression instanceof RuntimeReplaceable function) visit(function.replacement());
  }

  /** Returns true for the barrier of a policy, which is a sample of all rows. */
  private static boolean isWhole(Sample sample) {
    return sample.lowerBound() <= 0 && sample.upperBound() >= 1 && !sample.withReplacement();
  }

  private static boolean isTime(Cast cast) {
    DataType type = cast.dataType();
    boolean isOfTime =
        type instanceof DateType
            || type instanceof TimestampType
            || type instanceof TimestampNTZType;
    if (!isOfTime || !(cast.child().dataType() instanceof StringType) || !cast.child().foldable())
      return false;
    Object text;
    try {
      text = cast.child().eval(null);
    } catch (RuntimeException failure) {
      return true; // unknown
    }
    if (text == null) return false;
    String word = text.toString().trim().toLowerCase(Locale.ROOT);
    return TIMES.stream().anyMatch(word::startsWith);
  }
}
