package deltagateway.aggregate;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Turns the batches of a partition into rows of groups with the buffers of their aggregate
 * functions. A group may have several rows, whose buffers Spark's final aggregation merges: if
 * there are many groups, or if a sum does not fit, what there is by then goes out first.
 *
 * @param condition selects rows; null selects all
 * @param filter the condition as Spark evaluates it; null for none
 * @param values the arguments of the functions as Spark evaluates them
 * @param types the types of keys and buffers
 */
record PartialAggregation(
    BatchCondition condition,
    Expression filter,
    List<GroupKey.Column> keys,
    List<Accumulator.Function> functions,
    List<Expression> values,
    List<DataType> types,
    SQLMetric outputRows)
    implements Function1<Iterator<ColumnarBatch>, Iterator<InternalRow>>, Serializable {
  private static final int GROUPS_MAX = 1 << 18;

  @Override
  public Iterator<InternalRow> apply(Iterator<ColumnarBatch> batches) {
    return new Rows(batches);
  }

  private final class Rows extends AbstractIterator<InternalRow> {
    private final Iterator<ColumnarBatch> batches;
    private final List<Accumulator> accumulators = new ArrayList<>();
    private final Object[] cells = new Object[types.size()];
    private final UnsafeProjection projection =
        UnsafeProjection$.MODULE$.create(types.toArray(new DataType[0]));

    /** Copied rows of groups whose sum did not fit. */
    private final ArrayDeque<InternalRow> early = new ArrayDeque<>();

    private Groups groups;
    private int[] rows = new int[0];
    private int[] groupOfRow = new int[0];
    private int next;
    private int end;
    private boolean isFinished;

    Rows(Iterator<ColumnarBatch> batches) {
      this.batches = batches;
      start();
    }

    private void start() {
      groups = new Groups(keys);
      accumulators.clear();
      for (Accumulator.Function function : functions) accumulators.add(function.start());
    }

    @Override
    public boolean hasNext() {
      while (early.isEmpty() && next == end && !isFinished) {
        if (end > 0) start();
        aggregate();
      }
      return !early.isEmpty() || next < end;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) throw new NoSuchElementException();
      outputRows.add(1);
      if (!early.isEmpty()) return early.poll();
      return row(next++);
    }

    private InternalRow row(int group) {
      groups.values(group, cells);
      int position = keys.size();
      for (Accumulator each : accumulators) position = each.write(group, cells, position);
      return projection.apply(new GenericInternalRow(cells));
    }

    /** Takes in batches until they end or there are too many groups. */
    private void aggregate() {
      next = 0;
      end = 0;
      while (groups.end() <= GROUPS_MAX) {
        if (!batches.hasNext()) {
          isFinished = true;
          break;
        }
        TaskContext task = TaskContext.get();
        if (task != null) task.killTaskIfInterrupted();
        add(batches.next());
      }
      next = groups.first();
      end = groups.end();
      for (Accumulator each : accumulators) each.reserve(end);
    }

    private void add(ColumnarBatch batch) {
      int count = batch.numRows();
      if (rows.length < count) {
        rows = new int[count];
        groupOfRow = new int[count];
      }
      for (int row = 0; row < count; row++) rows[row] = row;
      try {
        if (condition != null) count = condition.select(batch, rows, count);
        groups.assign(batch, rows, count, groupOfRow);
        for (Accumulator each : accumulators) {
          each.reserve(groups.end());
          int at = 0;
          while ((at = each.add(batch, rows, at, count, groupOfRow)) >= 0)
            sendEarly(groupOfRow[at]);
        }
      } catch (ArithmeticException failure) {
        raise(batch, count);
        throw failure;
      }
    }

    private void sendEarly(int group) {
      early.add(row(group).copy());
      for (Accumulator each : accumulators) each.clear(group);
    }

    /**
     * Evaluates expressions as Spark does, whose error names the value and its place in the query.
     * An argument is evaluated for selected rows only: the filter may hide a row from the user.
     */
    private void raise(ColumnarBatch batch, int count) {
      for (int i = 0; i < count; i++) {
        InternalRow row = batch.getRow(rows[i]);
        if (filter != null && !Boolean.TRUE.equals(filter.eval(row))) continue;
        for (Expression value : values) value.eval(row);
      }
    }
  }
}
