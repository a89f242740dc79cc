package deltagateway;

import deltagateway.guard.PlanGuard;
import deltagateway.session.StatementQueryExecution;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The local Spark that all tests share, and the lists of names that a server gives to the guard.
 */
public final class TestSpark {
  public static final SparkSession SPARK = SparkSession.builder().getOrCreate();

  private TestSpark() {}

  public static PlanGuard guard() {
    return new PlanGuard(list("functions"), list("tableFunctions"), list("expressions"));
  }

  /** Returns the names in a list of the server. */
  public static Set<String> list(String name) {
    try {
      return new HashSet<>(
          Files.readAllLines(Path.of(System.getProperty("gateway.test.lists"), name)));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  public static LogicalPlan parsed(String text) {
    try {
      return SPARK.sessionState().sqlParser().parsePlan(text);
    } catch (ParseException failure) {
      throw new IllegalArgumentException(text, failure);
    }
  }

  public static LogicalPlan analyzed(String text) {
    return analyzed(parsed(text));
  }

  public static LogicalPlan analyzed(LogicalPlan parsed) {
    StatementQueryExecution query = new StatementQueryExecution(SPARK, parsed);
    query.assertAnalyzed();
    return query.analyzed();
  }

  /**
   * Returns the analyzed condition over columns of the relation `relation`, which is a FROM clause.
   */
  public static Expression condition(String condition, String relation) {
    LogicalPlan plan = analyzed("SELECT * FROM " + relation + " WHERE " + condition);
    while (!(plan instanceof Filter filter)) plan = plan.children().apply(0);
    return filter.condition();
  }

  /** Returns a plan that evaluates the expression over one row. */
  public static LogicalPlan over(Expression expression) {
    return new Filter(expression, new OneRowRelation());
  }

  /** Names the rows of a plan for SQL texts. */
  public static void name(String view, LogicalPlan plan) {
    Dataset$.MODULE$.ofRows(SPARK, plan).createOrReplaceTempView(view);
  }

  public static List<String> words(String text) {
    return List.of(text.split(" "));
  }
}
