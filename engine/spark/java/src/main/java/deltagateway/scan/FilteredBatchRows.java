package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Returns the rows of batches for which all conditions are true, as Spark's filter evaluates them.
 * Equality with integers, dates, timestamps and strings is evaluated for a whole column, and once
 * for each distinct string of a dictionary. Spark's expressions evaluate all other conditions, on
 * the rows that are left.
 *
 * <p>Conditions and columns have positions in a batch for their columns.
 */
public record FilteredBatchRows(Expression[] conditions, Seq<Expression> columns)
    implements Function1<Iterator<ColumnarBatch>, Iterator<InternalRow>>, Serializable {
  @Override
  public Iterator<InternalRow> apply(Iterator<ColumnarBatch> batches) {
    List<Condition> prepared = Arrays.stream(conditions).map(FilteredBatchRows::prepared).toList();
    return new Rows(batches, prepared, UnsafeProjection$.MODULE$.create(columns));
  }

  private static Condition prepared(Expression condition) {
    if (!(condition instanceof EqualTo || condition instanceof In)) return new Evaluated(condition);
    List<Expression> operands = ScalaConversions.list(condition.children());
    if (!(operands.get(0) instanceof BoundReference column)) return new Evaluated(condition);
    List<Object> values = new ArrayList<>();
    for (Expression operand : operands.subList(1, operands.size())) {
      if (!(operand instanceof Literal literal) || literal.value() == null)
        return new Evaluated(condition);
      values.add(literal.value());
    }
    DataType type = column.dataType();
    if (type.equals(StringType$.MODULE$))
      return new Strings(column.ordinal(), values.toArray(new UTF8String[0]));
    boolean isInt = type instanceof IntegerType || type instanceof DateType;
    boolean isLong =
        type instanceof LongType
            || type instanceof TimestampType
            || type instanceof TimestampNTZType;
    return isInt || isLong
        ? new Numbers(column.ordinal(), values, isLong)
        : new Evaluated(condition);
  }

  private interface Condition {
    /**
     * Moves those of the first `count` rows for which it is true to the start of `rows`, and
     * returns their number.
     */
    int filter(ColumnarBatch batch, int[] rows, int count);
  }

  private static final class Numbers implements Condition {
    private final int column;
    private final boolean isLong;
    private final long[] values;

    Numbers(int column, List<Object> values, boolean isLong) {
      this.column = column;
      this.isLong = isLong;
      this.values =
          values.stream().mapToLong(value -> ((Number) value).longValue()).sorted().toArray();
    }

    @Override
    public int filter(ColumnarBatch batch, int[] rows, int count) {
      ColumnVector numbers = batch.column(column);
      boolean hasNull = numbers.hasNull();
      boolean isOne = values.length == 1;
      long first = values[0];
      int matches = 0;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (hasNull && numbers.isNullAt(row)) continue;
        long number = isLong ? numbers.getLong(row) : numbers.getInt(row);
        if (isOne ? number == first : Arrays.binarySearch(values, number) >= 0)
          rows[matches++] = row;
      }
      return matches;
    }
  }

  private record Strings(int column, UTF8String[] values) implements Condition {
    private static final byte UNEQUAL = 1;
    private static final byte EQUAL = 2;

    @Override
    public int filter(ColumnarBatch batch, int[] rows, int count) {
      ColumnVector strings = batch.column(column);
      boolean hasNull = strings.hasNull();
      WritableColumnVector ids = dictionaryIds(strings);
      byte[] compared = new byte[ids == null ? 0 : 16]; // by dictionary id; 0: not yet
      int matches = 0;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (hasNull && strings.isNullAt(row)) continue;
        boolean isEqual;
        if (ids == null) {
          isEqual = isEqual(strings.getUTF8String(row));
        } else {
          int id = ids.getDictId(row);
          if (id >= compared.length)
            compared = Arrays.copyOf(compared, Math.max(id + 1, 2 * compared.length));
          if (compared[id] == 0)
            compared[id] = isEqual(strings.getUTF8String(row)) ? EQUAL : UNEQUAL;
          isEqual = compared[id] == EQUAL;
        }
        if (isEqual) rows[matches++] = row;
      }
      return matches;
    }

    /** Returns null for a vector without a dictionary. */
    private static WritableColumnVector dictionaryIds(ColumnVector strings) {
      return strings instanceof WritableColumnVector vector && vector.hasDictionary()
          ? vector.getDictionaryIds()
          : null;
    }

    private boolean isEqual(UTF8String string) {
      for (UTF8String value : values) if (string.equals(value)) return true;
      return false;
    }
  }

  private static final class Evaluated implements Condition {
    private final BasePredicate condition;

    Evaluated(Expression condition) {
      this.condition = Predicate.createInterpreted(condition);
      this.condition.initialize(0); // the conditions of a point lookup are deterministic
    }

    @Override
    public int filter(ColumnarBatch batch, int[] rows, int count) {
      int matches = 0;
      for (int i = 0; i < count; i++)
        if (condition.eval(batch.getRow(rows[i]))) rows[matches++] = rows[i];
      return matches;
    }
  }

  private static final class Rows extends AbstractIterator<InternalRow> {
    private final Iterator<ColumnarBatch> batches;
    private final List<Condition> conditions;
    private final UnsafeProjection columns;
    private ColumnarBatch batch;
    private int[] rows = new int[0];
    private int count;
    private int next;

    Rows(Iterator<ColumnarBatch> batches, List<Condition> conditions, UnsafeProjection columns) {
      this.batches = batches;
      this.conditions = conditions;
      this.columns = columns;
    }

    @Override
    public boolean hasNext() {
      while (next == count && batches.hasNext()) {
        batch = batches.next();
        next = 0;
        count = batch.numRows();
        if (rows.length < count) rows = new int[count];
        for (int row = 0; row < count; row++) rows[row] = row;
        for (Condition condition : conditions) count = condition.filter(batch, rows, count);
      }
      return next < count;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) throw new NoSuchElementException();
      return columns.apply(batch.getRow(rows[next++]));
    }
  }
}
