package deltagateway.analysis;

import deltagateway.internals.TreeVisitor;
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
 * Whether an analyzed query gives the same answer again over the same files, under the same
 * settings: "always", "session" where it also depends on who asks and on the current schema,
 * "never" where it depends on the time or on chance.
 *
 * <p>The walk is the guard's, which sees everything that a plan holds. Texts such as 'today' are
 * times where they become dates: Spark's optimizer evaluates them, so a cast of a constant text is
 * looked at. (In a typed literal, DATE 'today', the parser does, and nothing is left to see:
 * engine/sql/query/equal_texts.py. What the analyzer evaluates: {@link ParsedVolatility}.)
 */
public final class Volatility extends TreeVisitor {
  public static final String ALWAYS = "always";
  static final String SESSION = "session";
  public static final String NEVER = "never";

  private static final String[] TIMES = {"now", "today", "tomorrow", "yesterday"};

  private boolean never;
  private boolean session;

  private Volatility() {}

  public static String of(LogicalPlan analyzed) {
    Volatility walk = new Volatility();
    walk.visit(analyzed);
    return walk.never ? NEVER : walk.session ? SESSION : ALWAYS;
  }

  /** What holds where both do. */
  public static String both(String one, String other) {
    if (one.equals(NEVER) || other.equals(NEVER)) return NEVER;
    return one.equals(SESSION) || other.equals(SESSION) ? SESSION : ALWAYS;
  }

  public void visit(TreeNode<?> node) {
    if (never || node instanceof LogicalRelation) return;
    if (node instanceof Sample) never |= !isWhole((Sample) node);
    if (node instanceof Expression) visitExpression((Expression) node);
    visitFields(node);
  }

  private void visitExpression(Expression expression) {
    String name = expression.getClass().getSimpleName();
    never |= !expression.deterministic() || CrossRowExpressions.CLOCK.contains(name);
    session |= CrossRowExpressions.SESSION.contains(name);
    if (expression instanceof Cast) never |= isTime((Cast) expression);
    // What takes the place of a function is no field of it.
    if (expression instanceof RuntimeReplaceable)
      visit(((RuntimeReplaceable) expression).replacement());
  }

  /** The barrier of a policy is a sample of all rows. */
  private static boolean isWhole(Sample sample) {
    return sample.lowerBound() <= 0 && sample.upperBound() >= 1 && !sample.withReplacement();
  }

  private static boolean isTime(Cast cast) {
    DataType type = cast.dataType();
    if (!(type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType)) return false;
    if (!(cast.child().dataType() instanceof StringType) || !cast.child().foldable()) return false;
    Object text;
    try {
      text = cast.child().eval(null);
    } catch (RuntimeException failure) {
      return true; // it is not known
    }
    if (text == null) return false;
    String word = text.toString().trim().toLowerCase(Locale.ROOT);
    for (int i = 0; i < TIMES.length; i++) if (word.startsWith(TIMES[i])) return true;
    return false;
  }
}
