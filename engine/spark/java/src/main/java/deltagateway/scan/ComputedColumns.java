package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.Metadata;

/**
 * Finds columns of a scan that are computed from physical columns in the filters of an optimized
 * query, which have the column's expression instead of its name. A filter on an expression that the
 * optimizer has changed does not prune files.
 */
public final class ComputedColumns {
  private final SparkSession spark;
  private final PrunedFileIndex files;

  /** Expressions by the names of their columns; created for the first filter on such a column. */
  private Map<String, Form> forms;

  public ComputedColumns(SparkSession spark, PrunedFileIndex files) {
    this.spark = spark;
    this.files = files;
  }

  /** Returns the name of the column that an expression computes, or null if there is none. */
  public synchronized String name(Expression expression) {
    if (expression instanceof AttributeReference || expression.references().size() != 1)
      return null;
    Attribute source = expression.references().toSeq().head();
    if (!source.metadata().contains(StatementRequest.Scan.READ)) return null;
    if (forms == null) forms = forms();
    Form form = forms.get(source.name());
    return form != null && form.matches(expression) ? source.name() : null;
  }

  private Map<String, Form> forms() {
    Map<String, Form> found = new HashMap<>();
    LogicalPlan columns = new TableScan(spark, files).optimizedColumns();
    if (!(columns instanceof Project project)) return found;
    for (NamedExpression column : ScalaConversions.list(project.projectList())) {
      if (!(column instanceof Alias alias) || alias.child().references().size() != 1) continue;
      Attribute source = alias.child().references().toSeq().head();
      if (alias.name().equals(source.name()))
        found.put(source.name(), Form.of(source, alias.child()));
    }
    return found;
  }

  /** An expression of one column, for any id of the column. */
  private record Form(AttributeReference column, Expression value) {
    static Form of(Attribute source, Expression value) {
      AttributeReference column =
          new AttributeReference(
              source.name(),
              source.dataType(),
              true,
              Metadata.empty(),
              NamedExpression$.MODULE$.newExprId(),
              ScalaConversions.emptySeq());
      return new Form(column, general(value, column));
    }

    boolean matches(Expression expression) {
      return general(expression, column).semanticEquals(value);
    }

    private static Expression general(Expression expression, AttributeReference column) {
      return expression.transformUp(
          ScalaConversions.rewrite(node -> node instanceof AttributeReference ? column : node));
    }
  }
}
