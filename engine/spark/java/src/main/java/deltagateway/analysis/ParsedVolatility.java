package deltagateway.analysis;

import deltagateway.internals.TreeVisitor;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.immutable.Seq;

/**
 * Volatility of a parsed query, as {@link Volatility} is of an analyzed one.
 *
 * <p>The analyzer evaluates arguments of table functions such as range and values of PIVOT, and
 * replaces them by constants. So functions count by their names, wherever they are. A text such as
 * 'today' does not count: only the optimizer evaluates a cast of one.
 */
public final class ParsedVolatility extends TreeVisitor {
  private static final Set<String> VOLATILE =
      Set.of(
          "curdate",
          "current_date",
          "current_time",
          "current_timestamp",
          "localtime",
          "localtimestamp",
          "now",
          "rand",
          "randn",
          "random",
          "randstr",
          "shuffle",
          "uniform",
          "uuid");
  private static final Set<String> SESSION =
      Set.of(
          "current_catalog",
          "current_database",
          "current_path",
          "current_schema",
          "current_timezone",
          "current_user",
          "session_user",
          "user");

  private boolean isVolatile;
  private boolean dependsOnSession;

  private ParsedVolatility() {}

  /** Returns one of the values of {@link Volatility}. */
  public static String of(LogicalPlan parsed) {
    ParsedVolatility visitor = new ParsedVolatility();
    visitor.visit(parsed);
    if (visitor.isVolatile) return Volatility.NEVER;
    return visitor.dependsOnSession ? Volatility.SESSION : Volatility.ALWAYS;
  }

  @Override
  public void visit(TreeNode<?> node) {
    if (isVolatile) return;
    if (node instanceof UnresolvedFunction function) {
      String name = lastOf(function.nameParts());
      visitName(name);
      // With an argument it is a conversion.
      isVolatile |= name.equals("unix_timestamp") && function.arguments().isEmpty();
    }
    // A column may have the name of a function too; then less is cached.
    if (node instanceof UnresolvedAttribute column) visitName(lastOf(column.nameParts()));
    visitFields(node);
  }

  private void visitName(String name) {
    isVolatile |= VOLATILE.contains(name);
    dependsOnSession |= SESSION.contains(name);
  }

  private static String lastOf(Seq<String> nameParts) {
    return nameParts.last().toLowerCase(Locale.ROOT);
  }
}
