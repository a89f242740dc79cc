package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.classTag;
import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import deltagateway.scan.FilteredBatchRows;
import deltagateway.scan.FilteredScan;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
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
import scala.Some;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Returns some columns of the rows of a scan that a filter accepts, without generated code. Spark
 * writes the literals of a filter into the code that it generates, so each key of a lookup is
 * another class, which is compiled and first interpreted by Java, for many times the duration of
 * the lookup. Here the filter is evaluated on the columns of each batch ({@link
 * FilteredBatchRows}), by code that all lookups share.
 *
 * <p>It replaces filters that consist of comparisons, one of which lists the values of a column.
 *
 * <p>The class is public because Spark copies it by its constructor.
 */
public final class PointLookupExec extends ColumnarToRowExec {
  private static final long serialVersionUID = 1L;

  private static final Set<Class<? extends Expression>> SUPPORTED =
      Set.of(
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
          Literal.class);

  private final Expression condition;
  private final Seq<NamedExpression> results;

  /** `results` are columns of `child`, maybe with other names. */
  public PointLookupExec(Expression condition, Seq<NamedExpression> results, SparkPlan child) {
    super(child);
    this.condition = condition;
    this.results = results;
  }

  /** Returns the filter itself if it is no point lookup. */
  static SparkPlan of(FilterExec filter) {
    SparkPlan scan = filter.child();
    Expression condition = filter.condition();
    boolean isLookup =
        FilteredScan.isOurs(scan)
            && scan.supportsColumnar()
            && isSupported(condition)
            && EstimatedFilters.hasValues(conjuncts(condition).toList());
    List<NamedExpression> columns = List.copyOf(list(scan.output()));
    return isLookup ? new PointLookupExec(condition, seq(columns), scan) : filter;
  }

  /** Returns this lookup with a projection's columns; the projection over it if it computes any. */
  SparkPlan under(ProjectExec project) {
    List<NamedExpression> columns = new ArrayList<>();
    for (NamedExpression column : list(project.projectList())) {
      Expression source = source(column);
      int position = source instanceof Attribute each ? position(output(), each) : -1;
      if (position < 0) return project.withNewChildren(one(this));
      NamedExpression result = results.apply(position);
      boolean isSame = column instanceof Attribute && result instanceof Attribute;
      columns.add(isSame ? result : renamed(column, source(result)));
    }
    return new PointLookupExec(condition, seq(columns), child());
  }

  private static NamedExpression renamed(NamedExpression column, Expression source) {
    return new Alias(
        source,
        column.name(),
        column.exprId(),
        column.qualifier(),
        new Some<>(column.metadata()),
        emptySeq());
  }

  private static Expression source(NamedExpression column) {
    return column instanceof Alias alias ? alias.child() : (Expression) column;
  }

  private static boolean isSupported(Expression expression) {
    return SUPPORTED.contains(expression.getClass())
        && list(expression.children()).stream().allMatch(PointLookupExec::isSupported);
  }

  /** Returns the parts of a conjunction in the order in which they are evaluated. */
  private static Stream<Expression> conjuncts(Expression condition) {
    return condition instanceof And both
        ? Stream.concat(conjuncts(both.left()), conjuncts(both.right()))
        : Stream.of(condition);
  }

  private static int position(Seq<Attribute> columns, Attribute column) {
    for (int i = 0; i < columns.size(); i++) {
      if (columns.apply(i).exprId().equals(column.exprId())) return i;
    }
    return -1;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    Expression[] conditions = conjuncts(condition).map(this::bound).toArray(Expression[]::new);
    List<Expression> columns = list(results).stream().map(result -> bound(source(result))).toList();
    return child()
        .executeColumnar()
        .mapPartitions(
            new FilteredBatchRows(conditions, seq(columns)), false, classTag(InternalRow.class));
  }

  /** Returns the expression with positions of the scan's columns instead of names. */
  private Expression bound(Expression expression) {
    Seq<Attribute> columns = child().output();
    return expression.transformUp(
        rewrite(
            node ->
                node instanceof AttributeReference column
                    ? new BoundReference(position(columns, column), column.dataType(), true)
                    : node));
  }

  @Override
  public Seq<Attribute> output() {
    return seq(list(results).stream().map(NamedExpression::toAttribute).toList());
  }

  @Override
  public boolean supportCodegen() {
    return false;
  }

  @Override
  public ColumnarToRowExec withNewChildInternal(SparkPlan child) {
    return new PointLookupExec(condition, results, child);
  }

  @Override
  public String productPrefix() {
    return "PointLookupExec";
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int position) {
    return switch (position) {
      case 0 -> condition;
      case 1 -> results;
      default -> child();
    };
  }

  @Override
  public Iterator<Object> productIterator() {
    return seq(List.<Object>of(condition, results, child())).iterator();
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof PointLookupExec;
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof PointLookupExec that
            && condition.equals(that.condition)
            && results.equals(that.results)
            && child().equals(that.child());
  }

  @Override
  public int hashCode() {
    return 31 * (31 * condition.hashCode() + results.hashCode()) + child().hashCode();
  }
}
