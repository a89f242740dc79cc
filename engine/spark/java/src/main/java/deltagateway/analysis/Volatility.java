package deltagateway.analysis;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.TreeVisitor;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.collection.immutable.Seq;

/**
 * Volatility of a query: if it has the same answer again over the same files, under the same
 * settings. "always"; "session" if the answer also depends on the user and on the current schema;
 * "never" if it depends on the time or on chance.
 *
 * <p>It is examined twice, since each step of Spark evaluates something, of which the next one has
 * a constant. The parser evaluates typed literals such as DATE 'today': their text is at their
 * origin. The analyzer evaluates arguments of table functions such as range, values of PIVOT and
 * rows of VALUES: their functions count by name in the parsed query. The optimizer evaluates casts
 * of texts such as 'today': these are found in the analyzed query.
 */
public final class Volatility extends TreeVisitor {
  public static final String ALWAYS = "always";
  static final String SESSION = "session";
  public static final String NEVER = "never";

  private static final Set<String> VOLATILE_NAMES =
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
  private static final Set<String> SESSION_NAMES =
      Set.of(
          "current_catalog",
          "current_database",
          "current_path",
          "current_schema",
          "current_timezone",
          "current_user",
          "session_user",
          "user");

  private static final List<String> TIMES = List.of("now", "today", "tomorrow", "yesterday");

  /** Text of a literal that may denote the time; with a backslash any character may follow. */
  private static final Pattern TIME_TEXT =
      Pattern.compile(String.join("|", TIMES) + "|\\\\", Pattern.CASE_INSENSITIVE);

  /** Such a literal in a text; a comment may separate its type from its string. */
  private static final Pattern TIME_LITERAL =
      Pattern.compile(
          "\\b(date|time|timestamp|timestamp_ltz|timestamp_ntz)\\s*(--|/\\*|r?[\"'][^\"']*("
              + TIME_TEXT
              + "))",
          Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CHARACTER_CLASS);

  private boolean isVolatile;
  private boolean dependsOnSession;

  private Volatility() {}

  /** Returns the volatility of a parsed, or of an analyzed query. */
  public static String of(LogicalPlan query) {
    Volatility visitor = new Volatility();
    visitor.visit(query);
    if (visitor.isVolatile) return NEVER;
    return visitor.dependsOnSession ? SESSION : ALWAYS;
  }

  /**
   * Returns the volatility of the literals of a text with parameters, and of parameters that are
   * SQL texts. Positions of its parsed query are positions in another text, which has their values.
   */
  public static String ofText(String text, JsonNode parameters) {
    if (!parameters.isEmpty() && TIME_LITERAL.matcher(text).find()) return NEVER;
    for (JsonNode parameter : parameters) {
      JsonNode value = parameter.get("text");
      if (value != null && TIME_TEXT.matcher(value.textValue()).find()) return NEVER;
    }
    return ALWAYS;
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
    if (node instanceof LocalRelation rows)
      isVolatile |=
          rows.schema().exists(field -> isOfTime(field.dataType()))
              && isWritten(rows, TIME_LITERAL);
    if (node instanceof Expression expression) visitExpression(expression);
    visitFields(node);
  }

  private void visitExpression(Expression expression) {
    if (expression instanceof UnresolvedFunction function) {
      String name = lastOf(function.nameParts());
      visitName(name);
      // With an argument it is a conversion.
      isVolatile |= name.equals("unix_timestamp") && function.arguments().isEmpty();
    }
    // A column may have the name of a function too; then less is cached.
    if (expression instanceof UnresolvedAttribute column) visitName(lastOf(column.nameParts()));
    if (expression instanceof Literal literal)
      isVolatile |= isOfTime(literal.dataType()) && isWritten(literal, TIME_TEXT);
    if (!expression.resolved()) return;
    String name = expression.getClass().getSimpleName();
    isVolatile |= !expression.deterministic() || CrossRowExpressions.CLOCK.contains(name);
    dependsOnSession |= CrossRowExpressions.SESSION.contains(name);
    if (expression instanceof Cast cast) isVolatile |= isTime(cast);
    // The expression that replaces a function is not among its fields.
    if (expression instanceof RuntimeReplaceable function) visit(function.replacement());
  }

  private void visitName(String name) {
    isVolatile |= VOLATILE_NAMES.contains(name);
    dependsOnSession |= SESSION_NAMES.contains(name);
  }

  private static String lastOf(Seq<String> nameParts) {
    return nameParts.last().toLowerCase(Locale.ROOT);
  }

  /** Returns true for the barrier of a policy, which is a sample of all rows. */
  private static boolean isWhole(Sample sample) {
    return sample.lowerBound() <= 0 && sample.upperBound() >= 1 && !sample.withReplacement();
  }

  private static boolean isOfTime(DataType type) {
    return type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof TimeType;
  }

  /** Returns true if the text of a node that Spark's parser has evaluated has this, or may have. */
  private static boolean isWritten(TreeNode<?> node, Pattern pattern) {
    Origin origin = node.origin();
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty())
      return false; // not from a text
    String text = origin.sqlText().get();
    int start = (Integer) origin.startIndex().get();
    int end = (Integer) origin.stopIndex().get() + 1;
    if (start < 0 || start > end || end > text.codePointCount(0, text.length()))
      return false; // see ofText
    String written =
        text.substring(text.offsetByCodePoints(0, start), text.offsetByCodePoints(0, end));
    return pattern.matcher(written).find();
  }

  private static boolean isTime(Cast cast) {
    boolean isText = cast.child().dataType() instanceof StringType && cast.child().foldable();
    if (!isOfTime(cast.dataType()) || !isText) return false;
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
