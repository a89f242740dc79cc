package deltagateway.aggregate;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * A partial aggregation over the batches of its child, in the place of Spark's {@link
 * HashAggregateExec} with the filter below it. Its rows are those of Spark's: keys, then buffers.
 *
 * <p>Spark generates code for each query, with its literals in it, which is compiled and then
 * interpreted at first; this code is the same for all queries. It numbers the values of a
 * dictionary once instead of hashing each row's key. It is public for Spark's reflection.
 */
public final class VectorizedAggregateExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final HashAggregateExec aggregate;
  private final scala.Option<Expression> condition;
  private final Seq<NamedExpression> projection;
  private final SparkPlan child;
  private final SQLMetric outputRows;

  /**
   * @param projection the columns between the filter and the aggregation; empty if these are the
   *     child's
   */
  public VectorizedAggregateExec(
      HashAggregateExec aggregate,
      scala.Option<Expression> condition,
      Seq<NamedExpression> projection,
      SparkPlan child) {
    this.aggregate = aggregate;
    this.condition = condition;
    this.projection = projection;
    this.child = child;
    this.outputRows = SQLMetrics.createMetric(aggregate.sparkContext(), "number of output rows");
  }

  /** Returns what tasks run; null if an expression is not supported. */
  PartialAggregation task() {
    BatchColumns columns = new BatchColumns(child.output());
    columns.project(projection);
    List<Expression> values = new ArrayList<>();
    BatchCondition selected = null;
    Expression filter = null;
    if (condition.isDefined()) {
      selected = BatchCondition.of(condition.get(), columns);
      if (selected == null) return null;
      filter = columns.bind(condition.get());
    }
    List<GroupKey.Column> keys = new ArrayList<>();
    for (NamedExpression key : ScalaConversions.list(aggregate.groupingExpressions())) {
      GroupKey.Column column =
          columns.resolve((Expression) key) instanceof Attribute attribute
              ? GroupKey.Column.of(attribute, columns)
              : null;
      if (column == null) return null;
      keys.add(column);
    }
    List<Accumulator.Function> functions = new ArrayList<>();
    for (AggregateExpression each : ScalaConversions.list(aggregate.aggregateExpressions())) {
      Accumulator.Function function = Accumulator.of(each.aggregateFunction(), columns);
      if (function == null) return null;
      functions.add(function);
      for (Expression child : ScalaConversions.list(each.aggregateFunction().children())) {
        values.add(columns.bind(child));
      }
    }
    List<Attribute> output = ScalaConversions.list(output());
    List<DataType> types = output.stream().map(Attribute::dataType).toList();
    return new PartialAggregation(selected, filter, keys, functions, values, types, outputRows);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child
        .executeColumnar()
        .mapPartitions(task(), false, ScalaConversions.classTag(InternalRow.class));
  }

  @Override
  public Map<String, SQLMetric> metrics() {
    return ScalaConversions.map(java.util.Map.of("numOutputRows", outputRows));
  }

  @Override
  public Seq<Attribute> output() {
    return aggregate.output();
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaConversions.seq(List.of(child));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new VectorizedAggregateExec(aggregate, condition, projection, children.head());
  }

  /**
   * Returns the canonical form of the operators that it replaces, so that equal exchanges are
   * reused.
   */
  @Override
  public SparkPlan doCanonicalize() {
    SparkPlan rows = new ColumnarToRowExec(child);
    if (condition.isDefined()) rows = new FilterExec(condition.get(), rows);
    if (!projection.isEmpty()) rows = new ProjectExec(projection, rows);
    return aggregate.withNewChildren(ScalaConversions.one(rows)).canonicalized();
  }

  @Override
  public String simpleString(int maxFields) {
    String keys = aggregate.groupingExpressions().mkString("[", ", ", "]");
    String functions = aggregate.aggregateExpressions().mkString("[", ", ", "]");
    String filter = condition.isDefined() ? ", condition=" + condition.get() : "";
    return nodeName() + "(keys=" + keys + ", functions=" + functions + filter + ")";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int position) {
    return switch (position) {
      case 0 -> aggregate;
      case 1 -> condition;
      case 2 -> projection;
      case 3 -> child;
      default -> throw new IndexOutOfBoundsException(position);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof VectorizedAggregateExec;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof VectorizedAggregateExec that
        && aggregate.equals(that.aggregate)
        && condition.equals(that.condition)
        && projection.equals(that.projection)
        && child.equals(that.child);
  }

  @Override
  public int hashCode() {
    return 31 * aggregate.hashCode() + child.hashCode();
  }
}
