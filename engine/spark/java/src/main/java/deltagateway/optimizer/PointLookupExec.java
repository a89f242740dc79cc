package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.FilteredBatchRows;
import deltagateway.scan.FilteredScan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseNot;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * The rows of a scan that a filter leaves, and of these some columns, without code that is made for
 * it: Spark writes the values of a filter into the code that it generates, so each key of a look-up
 * is another class, which is compiled, and interpreted by Java at first, for many times what the
 * look-up takes. Here the filter is evaluated as it is ({@link FilteredBatchRows}), on the columns
 * of each batch, by code that all look-ups have in common.
 *
 * <p>It takes the place of filters that are made of comparisons, one of which says which values a
 * column has.
 *
 * <p>It is public, for Spark copies it by its constructor.
 */
public final class PointLookupExec extends ColumnarToRowExec {
  private static final Set KNOWN =
      new HashSet<>(
          Arrays.asList(
              And.class,
              Or.class,
              Not.class,
              EqualTo.class,
              EqualNullSafe.class,
              LessThan.class,
              LessThanOrEqual.class,
              GreaterThan.class,
              GreaterThanOrEqual.class,
              In.class,
              InSet.class,
              IsNull.class,
              IsNotNull.class,
              BitwiseNot.class,
              UnscaledValue.class,
              AttributeReference.class,
              Literal.class));

  private final Expression condition;
  private final scala.collection.immutable.Seq results;

  /** `results` are columns of `child`, some maybe under other names. */
  public PointLookupExec(
      Expression condition, scala.collection.immutable.Seq<Attribute> results, SparkPlan child) {
    super(child);
    this.condition = condition;
    this.results = results;
  }

  /** In the place of a filter; itself where it stays. */
  static SparkPlan of(FilterExec filter) {
    SparkPlan scan = filter.child();
    if (!FilteredScan.isOurs(scan) || !scan.supportsColumnar() || !isKnown(filter.condition()))
      return filter;
    if (!EstimatedFilters.hasValues(conditions(filter.condition()))) return filter;
    return new PointLookupExec(filter.condition(), scan.output(), scan);
  }

  /** With a projection above it; that one, over this one, where it computes anything. */
  SparkPlan under(ProjectExec project) {
    List columns = new ArrayList<>();
    for (int i = 0; i < project.projectList().size(); i++) {
      NamedExpression column = project.projectList().apply(i);
      Expression source = source(column);
      int at = source instanceof Attribute ? position(output(), (Attribute) source) : -1;
      if (at < 0) return project.withNewChildren(ScalaConversions.seq(Arrays.asList(this)));
      Expression own = source((NamedExpression) results.apply(at));
      if (column instanceof Attribute && results.apply(at) instanceof Attribute)
        columns.add(results.apply(at));
      else columns.add(renamed(column, own));
    }
    return new PointLookupExec(condition, ScalaConversions.seq(columns), child());
  }

  private static NamedExpression renamed(NamedExpression column, Expression source) {
    return new Alias(
        source,
        column.name(),
        column.exprId(),
        column.qualifier(),
        new scala.Some<>(column.metadata()),
        ScalaConversions.seq(new ArrayList<>()));
  }

  private static Expression source(NamedExpression column) {
    return column instanceof Alias ? ((Alias) column).child() : (Expression) column;
  }

  private static boolean isKnown(Expression expression) {
    if (!KNOWN.contains(expression.getClass())) return false;
    List<Expression> children = ScalaConversions.list(expression.children());
    for (int i = 0; i < children.size(); i++) if (!isKnown(children.get(i))) return false;
    return true;
  }

  /** In the order in which they are evaluated. */
  private static List<Expression> conditions(Expression condition) {
    List<Expression> found = new ArrayList<>();
    if (condition instanceof And) {
      found.addAll(conditions(((And) condition).left()));
      found.addAll(conditions(((And) condition).right()));
    } else {
      found.add(condition);
    }
    return found;
  }

  private static int position(scala.collection.immutable.Seq<Attribute> columns, Attribute wanted) {
    for (int i = 0; i < columns.size(); i++) {
      if (columns.apply(i).exprId().equals(wanted.exprId())) return i;
    }
    return -1;
  }

  public RDD<InternalRow> doExecute() {
    List<Expression> conditions = conditions(condition);
    for (int i = 0; i < conditions.size(); i++) conditions.set(i, bound(conditions.get(i)));
    List<Expression> columns = new ArrayList<>();
    for (int i = 0; i < results.size(); i++)
      columns.add(bound(source((NamedExpression) results.apply(i))));
    FilteredBatchRows rows =
        new FilteredBatchRows(conditions.toArray(new Expression[0]), ScalaConversions.seq(columns));
    return child()
        .executeColumnar()
        .mapPartitions(rows, false, ScalaConversions.classTag(InternalRow.class));
  }

  /** With places of the scan's columns for their names. */
  private Expression bound(Expression expression) {
    final scala.collection.immutable.Seq<Attribute> columns = child().output();
    return expression.transformUp(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return node instanceof AttributeReference;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            AttributeReference column = (AttributeReference) node;
            return new BoundReference(position(columns, column), column.dataType(), true);
          }
        });
  }

  public scala.collection.immutable.Seq<Attribute> output() {
    List<Attribute> columns = new ArrayList<>();
    for (int i = 0; i < results.size(); i++)
      columns.add(((NamedExpression) results.apply(i)).toAttribute());
    return ScalaConversions.seq(columns);
  }

  public boolean supportCodegen() {
    return false;
  }

  public ColumnarToRowExec withNewChildInternal(SparkPlan child) {
    return new PointLookupExec(condition, results, child);
  }

  public String productPrefix() {
    return "PointLookupExec";
  }

  public int productArity() {
    return 3;
  }

  public Object productElement(int at) {
    return at == 0 ? condition : at == 1 ? (Object) results : child();
  }

  public scala.collection.Iterator productIterator() {
    return ScalaConversions.seq(Arrays.asList(condition, results, child())).iterator();
  }

  public boolean canEqual(Object other) {
    return other instanceof PointLookupExec;
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof PointLookupExec)) return false;
    PointLookupExec that = (PointLookupExec) other;
    return condition.equals(that.condition)
        && results.equals(that.results)
        && child().equals(that.child());
  }

  public int hashCode() {
    return 31 * (31 * condition.hashCode() + results.hashCode()) + child().hashCode();
  }
}
