package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
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
 * The columns of a scan that are made of what is read, known again in the filters of an optimized
 * query: there the expression stands that makes them. One that the optimizer has changed in another
 * way is not known, and is no condition to choose files by.
 */
public final class ComputedColumns {
  private final SparkSession spark;
  private final PrunedFileIndex files;

  /** Name -> {@link Form}; made for the first filter on such a column. */
  private Map<String, Form> forms;

  public ComputedColumns(SparkSession spark, PrunedFileIndex files) {
    this.spark = spark;
    this.files = files;
  }

  /** The name of the column that an expression over what is read makes; null where it is none. */
  public synchronized String name(Expression expression) {
    if (expression instanceof AttributeReference || expression.references().size() != 1)
      return null;
    Attribute read = (Attribute) expression.references().head();
    if (!read.metadata().contains(StatementRequest.Scan.READ)) return null;
    if (forms == null) forms = forms();
    Form form = forms.get(read.name());
    return form != null && form.isOf(expression) ? read.name() : null;
  }

  private Map<String, Form> forms() {
    Map<String, Form> found = new HashMap<>();
    LogicalPlan shown = new TableScan(spark, files).optimizedColumns();
    if (!(shown instanceof Project)) return found;
    for (Iterator<NamedExpression> columns =
            ScalaConversions.list(((Project) shown).projectList()).iterator();
        columns.hasNext(); ) {
      NamedExpression column = columns.next();
      if (!(column instanceof Alias) || ((Alias) column).child().references().size() != 1) continue;
      Expression value = ((Alias) column).child();
      Attribute read = (Attribute) value.references().head();
      if (((Alias) column).name().equals(read.name()))
        found.put(read.name(), new Form(read, value));
    }
    return found;
  }

  /** An expression, whichever id its only column has. */
  private static final class Form {
    private final AttributeReference column;
    private final Expression value;

    Form(Attribute read, Expression value) {
      this.column =
          new AttributeReference(
              read.name(),
              read.dataType(),
              true,
              Metadata.empty(),
              NamedExpression$.MODULE$.newExprId(),
              ScalaConversions.seq(new ArrayList<>()));
      this.value = general(value);
    }

    boolean isOf(Expression expression) {
      return general(expression).semanticEquals(value);
    }

    private Expression general(Expression expression) {
      return expression.transformUp(
          new scala.runtime.AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
              return node instanceof AttributeReference;
            }

            public Object applyOrElse(Object node, scala.Function1 otherwise) {
              return isDefinedAt(node) ? column : otherwise.apply(node);
            }
          });
    }
  }
}
