package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
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

/**
 * Turns batches into rows: those for which all conditions are true, one after the other, as Spark's
 * filter evaluates them. Whole numbers, dates, times and texts that equal a value are looked for in
 * a column at once, and a text of a dictionary is compared once; all other conditions are evaluated
 * by Spark's expressions, on the rows that are left.
 */
public final class FilteredBatchRows extends scala.runtime.AbstractFunction1
    implements Serializable {
  private final Expression[] conditions;
  private final scala.collection.immutable.Seq<Expression> columns;

  /** Both are of columns by their places in a batch. */
  public FilteredBatchRows(
      Expression[] conditions, scala.collection.immutable.Seq<Expression> columns) {
    this.conditions = conditions;
    this.columns = columns;
  }

  public Object apply(Object batches) {
    Condition[] prepared = new Condition[conditions.length];
    for (int i = 0; i < prepared.length; i++) prepared[i] = prepared(conditions[i]);
    return new Rows(
        (scala.collection.Iterator<ColumnarBatch>) batches,
        prepared,
        UnsafeProjection$.MODULE$.create(columns));
  }

  private static Condition prepared(Expression condition) {
    boolean isEquality = condition instanceof EqualTo || condition instanceof In;
    List<Expression> operands =
        isEquality ? ScalaConversions.list(condition.children()) : new ArrayList<>();
    if (!isEquality || !(operands.get(0) instanceof BoundReference))
      return new Evaluated(condition);
    BoundReference column = (BoundReference) operands.get(0);
    List<Object> values = new ArrayList<>();
    for (int i = 1; i < operands.size(); i++) {
      if (!(operands.get(i) instanceof Literal)) return new Evaluated(condition);
      values.add(((Literal) operands.get(i)).value());
    }
    if (values.contains(null)) return new Evaluated(condition);
    DataType type = column.dataType();
    if (type.equals(StringType$.MODULE$)) return new Texts(column.ordinal(), values);
    if (type instanceof IntegerType || type instanceof DateType)
      return new Numbers(column.ordinal(), values, false);
    boolean isLong =
        type instanceof LongType
            || type instanceof TimestampType
            || type instanceof TimestampNTZType;
    return isLong ? new Numbers(column.ordinal(), values, true) : new Evaluated(condition);
  }

  private abstract static class Condition {
    /**
     * Keeps of the first `count` places in `rows` those of rows for which it is true; how many
     * these are.
     */
    abstract int keep(ColumnarBatch batch, int[] rows, int count);
  }

  private static final class Numbers extends Condition {
    private final int column;
    private final boolean isLong;
    private final long[] values;

    Numbers(int column, List<Object> values, boolean isLong) {
      this.column = column;
      this.isLong = isLong;
      this.values = new long[values.size()];
      for (int i = 0; i < this.values.length; i++)
        this.values[i] = ((Number) values.get(i)).longValue();
      Arrays.sort(this.values);
    }

    int keep(ColumnarBatch batch, int[] rows, int count) {
      ColumnVector numbers = batch.column(column);
      boolean hasNull = numbers.hasNull();
      boolean isOne = values.length == 1;
      long first = values[0];
      int kept = 0;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (hasNull && numbers.isNullAt(row)) continue;
        long number = isLong ? numbers.getLong(row) : numbers.getInt(row);
        if (isOne ? number == first : Arrays.binarySearch(values, number) >= 0) rows[kept++] = row;
      }
      return kept;
    }
  }

  private static final class Texts extends Condition {
    private static final byte UNEQUAL = 1;
    private static final byte EQUAL = 2;

    private final int column;
    private final UTF8String[] values;

    Texts(int column, List<Object> values) {
      this.column = column;
      this.values = values.toArray(new UTF8String[0]);
    }

    int keep(ColumnarBatch batch, int[] rows, int count) {
      ColumnVector texts = batch.column(column);
      boolean hasNull = texts.hasNull();
      WritableColumnVector places = places(texts);
      byte[] compared = new byte[places == null ? 0 : 16];
      int kept = 0;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (hasNull && texts.isNullAt(row)) continue;
        boolean isEqual;
        if (places == null) {
          isEqual = isEqual(texts.getUTF8String(row));
        } else {
          int place = places.getDictId(row);
          if (place >= compared.length)
            compared = Arrays.copyOf(compared, Math.max(place + 1, 2 * compared.length));
          if (compared[place] == 0)
            compared[place] = isEqual(texts.getUTF8String(row)) ? EQUAL : UNEQUAL;
          isEqual = compared[place] == EQUAL;
        }
        if (isEqual) rows[kept++] = row;
      }
      return kept;
    }

    /** In the dictionary of the batch; null where it has none. */
    private static WritableColumnVector places(ColumnVector texts) {
      if (!(texts instanceof WritableColumnVector)
          || !((WritableColumnVector) texts).hasDictionary()) return null;
      return ((WritableColumnVector) texts).getDictionaryIds();
    }

    private boolean isEqual(UTF8String text) {
      for (int i = 0; i < values.length; i++) if (text.equals(values[i])) return true;
      return false;
    }
  }

  private static final class Evaluated extends Condition {
    private final BasePredicate condition;

    Evaluated(Expression condition) {
      this.condition = Predicate.createInterpreted(condition);
      this.condition.initialize(0); // nothing in it is by chance
    }

    int keep(ColumnarBatch batch, int[] rows, int count) {
      int kept = 0;
      for (int i = 0; i < count; i++)
        if (condition.eval(batch.getRow(rows[i]))) rows[kept++] = rows[i];
      return kept;
    }
  }

  private static final class Rows extends scala.collection.AbstractIterator {
    private final scala.collection.Iterator<ColumnarBatch> batches;
    private final Condition[] conditions;
    private final UnsafeProjection columns;
    private ColumnarBatch batch;
    private int[] rows = new int[0];
    private int count;
    private int next;

    Rows(
        scala.collection.Iterator<ColumnarBatch> batches,
        Condition[] conditions,
        UnsafeProjection columns) {
      this.batches = batches;
      this.conditions = conditions;
      this.columns = columns;
    }

    public boolean hasNext() {
      while (next == count && batches.hasNext()) {
        batch = batches.next();
        next = 0;
        count = batch.numRows();
        if (rows.length < count) rows = new int[count];
        for (int row = 0; row < count; row++) rows[row] = row;
        for (int i = 0; i < conditions.length && count > 0; i++)
          count = conditions[i].keep(batch, rows, count);
      }
      return next < count;
    }

    public Object next() {
      if (!hasNext()) throw new NoSuchElementException();
      return columns.apply(batch.getRow(rows[next++]));
    }
  }
}
