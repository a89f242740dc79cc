package deltagateway.analysis;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * The rows of a query with columns that only their names lead to.
 *
 * <p>Spark has that for the columns that a join USING leaves out: a projection that says which
 * columns of its child `*` does not show, and the analyzer puts them there where a query names one.
 */
public final class HiddenColumns {
  private final LogicalPlan rows;
  private final Set names;

  /** `rows` is analyzed; `names` are those of its columns that are not shown. */
  public HiddenColumns(LogicalPlan rows, Set<String> names) {
    this.rows = rows;
    this.names = names;
  }

  /** Each time with columns of other ids: Spark would not renew those that are not shown. */
  LogicalPlan fresh() {
    List<Attribute> given = ScalaConversions.list(rows.output());
    List all = new ArrayList<>();
    List shown = new ArrayList<>();
    List unlisted = new ArrayList<>();
    scala.collection.immutable.Seq<String> nothing = ScalaConversions.seq(new ArrayList<>());
    for (int i = 0; i < given.size(); i++) {
      Attribute column = given.get(i);
      Alias own =
          new Alias(
              column,
              column.name(),
              NamedExpression$.MODULE$.newExprId(),
              nothing,
              ScalaConversions.none(),
              nothing);
      all.add(own);
      (names.contains(column.name()) ? unlisted : shown).add(own.toAttribute());
    }
    Project project =
        new Project(ScalaConversions.seq(shown), new Project(ScalaConversions.seq(all), rows));
    project.setTagValue(Project.hiddenOutputTag(), ScalaConversions.seq(unlisted));
    return project;
  }
}
