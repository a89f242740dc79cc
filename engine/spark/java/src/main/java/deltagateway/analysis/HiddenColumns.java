package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.seq;

import deltagateway.internals.PlanNodes;
import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Rows of a query some of whose columns are found by name but not by `*`.
 *
 * <p>Spark hides the columns that a join USING removes in the same way: a tag of a projection lists
 * columns of its child, and the analyzer adds those that the query names.
 */
public final class HiddenColumns {
  private final LogicalPlan rows;
  private final Set<String> names;

  /** `rows` is analyzed; `names` are those of the hidden columns. */
  public HiddenColumns(LogicalPlan rows, Set<String> names) {
    this.rows = rows;
    this.names = names;
  }

  /** Returns a plan with new ids: Spark would not renew the ids of hidden columns. */
  LogicalPlan fresh() {
    List<NamedExpression> all = new ArrayList<>();
    List<Attribute> visible = new ArrayList<>();
    List<Attribute> hidden = new ArrayList<>();
    for (Attribute column : ScalaConversions.list(rows.output())) {
      Alias renewed = PlanNodes.alias(column, column.name());
      all.add(renewed);
      (names.contains(column.name()) ? hidden : visible).add(renewed.toAttribute());
    }
    Project project = new Project(seq(visible), new Project(seq(all), rows));
    project.setTagValue(Project.hiddenOutputTag(), seq(hidden));
    return project;
  }
}
