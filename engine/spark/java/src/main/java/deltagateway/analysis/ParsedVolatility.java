package deltagateway.analysis;

import deltagateway.internals.ScalaConversions;
import deltagateway.internals.TreeVisitor;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * What a parsed query says of the time, of chance and of the session, as {@link Volatility} does of
 * an analyzed one.
 *
 * <p>The analyzer evaluates arguments of table functions such as range and values of PIVOT, and
 * nothing is left to see of what was in them. So functions count by their names, wherever they are.
 * A text such as 'today' does not: only the optimizer makes a time of one that is cast.
 */
public final class ParsedVolatility extends TreeVisitor {
  private static final Set<String> CLOCK =
      set(
          new String[] {
            "curdate",
            "current_date",
            "current_time",
            "current_timestamp",
            "localtime",
            "localtimestamp",
            "now",
          });
  private static final Set<String> CHANCE =
      set(
          new String[] {
            "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid",
          });
  private static final Set<String> SESSION =
      set(
          new String[] {
            "current_catalog",
            "current_database",
            "current_path",
            "current_schema",
            "current_timezone",
            "current_user",
            "session_user",
            "user",
          });

  private boolean never;
  private boolean session;

  private ParsedVolatility() {}

  public static String repeatable(LogicalPlan parsed) {
    ParsedVolatility walk = new ParsedVolatility();
    walk.visit(parsed);
    return walk.never ? Volatility.NEVER : walk.session ? Volatility.SESSION : Volatility.ALWAYS;
  }

  private static Set<String> set(String[] names) {
    return new HashSet<>(Arrays.asList(names));
  }

  public void visit(TreeNode<?> node) {
    if (never) return;
    if (node instanceof UnresolvedFunction) visitFunction((UnresolvedFunction) node);
    if (node instanceof UnresolvedAttribute)
      visitName(ScalaConversions.list(((UnresolvedAttribute) node).nameParts()));
    visitFields(node);
  }

  private void visitFunction(UnresolvedFunction function) {
    List<String> parts = ScalaConversions.list(function.nameParts());
    visitName(parts);
    // Of a given time it is a conversion.
    never |= lastOf(parts).equals("unix_timestamp") && function.arguments().isEmpty();
  }

  /** A column may have such a name too; then less is kept. */
  private void visitName(List<String> parts) {
    String name = lastOf(parts);
    never |= CLOCK.contains(name) || CHANCE.contains(name);
    session |= SESSION.contains(name);
  }

  private static String lastOf(List<String> parts) {
    return parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
  }
}
