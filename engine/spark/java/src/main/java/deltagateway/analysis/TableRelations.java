package deltagateway.analysis;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * The relations that names of a parsed plan stand for, put there before Spark analyzes it.
 *
 * <p>So Spark sees a table's own leaf below its name, with the hidden column `_metadata`; a
 * temporary view would hide it.
 */
public final class TableRelations {
  private final Map<String, LogicalPlan> plans = new HashMap<>();
  private final Map<String, HiddenColumns> unlisted = new HashMap<>();
  private final FunctionBodies bodies;

  public TableRelations(FunctionBodies bodies) {
    this.bodies = bodies;
  }

  public void add(String name, LogicalPlan plan) {
    plans.put(name.toLowerCase(Locale.ROOT), plan);
  }

  public void add(String name, HiddenColumns columns) {
    unlisted.put(name.toLowerCase(Locale.ROOT), columns);
  }

  /**
   * Names that are not known here stay: those of views and of common table expressions. Views that
   * bodies of functions read have to be there.
   */
  public LogicalPlan inPlaceOfNames(LogicalPlan parsed) {
    return placed(parsed, new Placing());
  }

  private LogicalPlan placed(LogicalPlan plan, Placing placing) {
    return bodies.placedIn(plan.transformDownWithSubqueries(placing));
  }

  /**
   * A name that a WITH defines is its own from there on; Spark does not find what else may have
   * meant a table of ours.
   */
  private final class Placing extends scala.runtime.AbstractPartialFunction {
    private final Set<String> defined = new HashSet<>();

    private LogicalPlan named(UnresolvedRelation relation) {
      List<String> parts = ScalaConversions.list(relation.multipartIdentifier());
      String name = parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
      if (parts.size() > 1 || defined.contains(name)) return null;
      return unlisted.containsKey(name) ? unlisted.get(name).fresh() : plans.get(name);
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof UnresolvedWith
          || (node instanceof UnresolvedRelation && named((UnresolvedRelation) node) != null)
          || (node instanceof Project && hasReplacements((Project) node))
          || node instanceof WithWindowDefinition;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      if (node instanceof UnresolvedWith) return definitions((UnresolvedWith) node);
      if (node instanceof Project) return replacements((Project) node);
      if (node instanceof WithWindowDefinition) return windows((WithWindowDefinition) node);
      UnresolvedRelation relation = (UnresolvedRelation) node;
      return SubqueryAlias$.MODULE$.apply(relation.multipartIdentifier().apply(0), named(relation));
    }

    /** The definitions of WITH are no children of it, so no walk of Spark's comes there. */
    private UnresolvedWith definitions(UnresolvedWith with) {
      List found = ScalaConversions.list(with.cteRelations());
      List placed = new ArrayList<>();
      for (int i = 0; i < found.size(); i++) {
        scala.Tuple3 definition = (scala.Tuple3) found.get(i);
        defined.add(((String) definition._1()).toLowerCase(Locale.ROOT));
        SubqueryAlias plan = (SubqueryAlias) placed((LogicalPlan) definition._2(), this);
        placed.add(new scala.Tuple3<>(definition._1(), plan, definition._3()));
      }
      return new UnresolvedWith(with.child(), ScalaConversions.seq(placed), with.allowRecursion());
    }

    /** What a star replaces columns by, as in `|> SET`, is no child of it either. */
    private Project replacements(Project project) {
      List found = ScalaConversions.list(project.projectList());
      List placed = new ArrayList<>();
      for (int i = 0; i < found.size(); i++)
        placed.add(isReplacing(found.get(i)) ? star(found.get(i)) : found.get(i));
      return new Project(ScalaConversions.seq(placed), project.child());
    }

    private UnresolvedStarExceptOrReplace star(Object found) {
      UnresolvedStarExceptOrReplace star = (UnresolvedStarExceptOrReplace) found;
      List columns = ScalaConversions.list((scala.collection.Seq) star.replacements().get());
      List placed = new ArrayList<>();
      for (int i = 0; i < columns.size(); i++) placed.add(inside((Expression) columns.get(i)));
      return new UnresolvedStarExceptOrReplace(
          star.target(), star.excepts(), new scala.Some<>(ScalaConversions.seq(placed)));
    }

    /** Nor are the windows of a WINDOW clause. */
    private WithWindowDefinition windows(WithWindowDefinition with) {
      Map<String, WindowSpecDefinition> placed =
          new HashMap<>(CollectionConverters.asJava(with.windowDefinitions()));
      Iterator entries = placed.entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        entry.setValue(inside((Expression) entry.getValue()));
      }
      scala.collection.immutable.Map<String, WindowSpecDefinition> windows =
          scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(placed));
      return new WithWindowDefinition(windows, with.child(), with.forPipeSQL());
    }

    /** Walks through an expression, which a plan has to hold for that. */
    private Expression inside(Expression expression) {
      return ((Filter) placed(new Filter(expression, new OneRowRelation()), this)).condition();
    }
  }

  private static boolean hasReplacements(Project project) {
    List<NamedExpression> found = ScalaConversions.list(project.projectList());
    for (int i = 0; i < found.size(); i++) {
      if (isReplacing(found.get(i))) return true;
    }
    return false;
  }

  private static boolean isReplacing(Object expression) {
    return expression instanceof UnresolvedStarExceptOrReplace
        && ((UnresolvedStarExceptOrReplace) expression).replacements().isDefined();
  }
}
