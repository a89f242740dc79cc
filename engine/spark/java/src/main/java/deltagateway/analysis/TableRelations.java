package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.seq;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStarExceptOrReplace;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.WindowSpecDefinition;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.WithWindowDefinition;
import scala.Option;
import scala.PartialFunction;
import scala.Some;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Relations that replace their names in a parsed plan, before Spark analyzes it.
 *
 * <p>So Spark finds a table's own leaf below its name, with the hidden column `_metadata`; a
 * temporary view would hide it.
 */
public final class TableRelations {
  private final Map<String, LogicalPlan> plans = new HashMap<>();
  private final Map<String, HiddenColumns> hiddenColumns = new HashMap<>();
  private final FunctionBodies bodies;

  public TableRelations(FunctionBodies bodies) {
    this.bodies = bodies;
  }

  public void add(String name, LogicalPlan plan) {
    plans.put(name.toLowerCase(Locale.ROOT), plan);
  }

  public void add(String name, HiddenColumns columns) {
    hiddenColumns.put(name.toLowerCase(Locale.ROOT), columns);
  }

  /**
   * Returns the plan with relations in place of their names. Other names remain: those of views and
   * of common table expressions. Views that bodies of functions read must exist.
   */
  public LogicalPlan resolve(LogicalPlan parsed) {
    return new Resolution().resolve(parsed);
  }

  /** Resolution of one plan. A name that a WITH defines means its definition from there on. */
  private final class Resolution {
    private final Set<String> defined = new HashSet<>();
    private final PartialFunction<LogicalPlan, LogicalPlan> rewrite =
        ScalaConversions.rewrite(this::resolveNode);

    LogicalPlan resolve(LogicalPlan plan) {
      return bodies.inline(plan.transformDownWithSubqueries(rewrite));
    }

    private LogicalPlan resolveNode(LogicalPlan node) {
      if (node instanceof UnresolvedWith with) return withDefinitions(with);
      if (node instanceof UnresolvedRelation relation) return relation(relation);
      if (node instanceof WithWindowDefinition with) return withWindows(with);
      return node instanceof Project project ? withReplacements(project) : node;
    }

    private LogicalPlan relation(UnresolvedRelation relation) {
      Seq<String> parts = relation.multipartIdentifier();
      String name = parts.last().toLowerCase(Locale.ROOT);
      if (parts.size() > 1 || defined.contains(name)) return relation;
      LogicalPlan rows =
          hiddenColumns.containsKey(name) ? hiddenColumns.get(name).fresh() : plans.get(name);
      return rows == null ? relation : SubqueryAlias$.MODULE$.apply(parts.head(), rows);
    }

    /** Resolves the definitions of WITH, which are not among its children. */
    private UnresolvedWith withDefinitions(UnresolvedWith with) {
      List<Tuple3<String, SubqueryAlias, Option<Object>>> definitions = new ArrayList<>();
      for (Tuple3<String, SubqueryAlias, Option<Object>> definition : list(with.cteRelations())) {
        defined.add(definition._1().toLowerCase(Locale.ROOT));
        SubqueryAlias plan = (SubqueryAlias) resolve(definition._2());
        definitions.add(new Tuple3<>(definition._1(), plan, definition._3()));
      }
      return new UnresolvedWith(with.child(), seq(definitions), with.allowRecursion());
    }

    /** Resolves the replacements of a star, as of `|> SET`, which are not among its children. */
    private LogicalPlan withReplacements(Project project) {
      List<NamedExpression> columns = new ArrayList<>();
      boolean hasReplacements = false;
      for (NamedExpression column : list(project.projectList())) {
        boolean isReplacing =
            column instanceof UnresolvedStarExceptOrReplace star && star.replacements().isDefined();
        columns.add(
            isReplacing ? withReplacements((UnresolvedStarExceptOrReplace) column) : column);
        hasReplacements |= isReplacing;
      }
      return hasReplacements ? new Project(seq(columns), project.child()) : project;
    }

    private UnresolvedStarExceptOrReplace withReplacements(UnresolvedStarExceptOrReplace star) {
      List<NamedExpression> replacements = new ArrayList<>();
      for (NamedExpression replacement : list(star.replacements().get()))
        replacements.add((NamedExpression) resolve((Expression) replacement));
      return new UnresolvedStarExceptOrReplace(
          star.target(), star.excepts(), new Some<>(seq(replacements)));
    }

    /** Resolves the windows of a WINDOW clause, which are not among its children. */
    private WithWindowDefinition withWindows(WithWindowDefinition with) {
      Map<String, WindowSpecDefinition> windows = new HashMap<>();
      CollectionConverters.asJava(with.windowDefinitions())
          .forEach((name, window) -> windows.put(name, (WindowSpecDefinition) resolve(window)));
      return new WithWindowDefinition(
          ScalaConversions.map(windows), with.child(), with.forPipeSQL());
    }

    /** Resolves an expression, in a plan because only plans are transformed with subqueries. */
    private Expression resolve(Expression expression) {
      return ((Filter) resolve(new Filter(expression, new OneRowRelation()))).condition();
    }
  }
}
