package deltagateway.aggregate;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.util.SQLOrderingUtil;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The buffers of one aggregate function, for all groups. */
abstract class Accumulator {
  /** An aggregate function that can be computed here; {@link #start} begins with empty buffers. */
  interface Function extends Serializable {
    Accumulator start();
  }

  /** Returns the function over the columns of a batch; null if it is not one of those supported. */
  static Function of(AggregateFunction function, BatchColumns columns) {
    if (function instanceof Count count)
      return count(ScalaConversions.list(count.children()), columns);
    int buffers = function.inputAggBufferAttributes().size();
    if (function instanceof Average average && buffers == 2) {
      boolean isFloating =
          average.inputAggBufferAttributes().apply(0).dataType() instanceof DoubleType;
      DoubleExpression value = isFloating ? DoubleExpression.of(average.child(), columns) : null;
      return value == null ? null : () -> new Doubles(value, true);
    }
    if (buffers != 1) return null;
    if (function instanceof Sum sum) return sum(sum, columns);
    if (function instanceof Min min) return extreme(min.child(), false, columns);
    if (function instanceof Max max) return extreme(max.child(), true, columns);
    return null;
  }

  private static Function sum(Sum sum, BatchColumns columns) {
    if (sum.dataType() instanceof LongType && sum.child().dataType() instanceof IntegralType) {
      LongExpression value = LongExpression.of(sum.child(), columns);
      return value == null ? null : () -> new Longs(value);
    }
    if (!(sum.dataType() instanceof DoubleType)) return null;
    DoubleExpression value = DoubleExpression.of(sum.child(), columns);
    return value == null ? null : () -> new Doubles(value, false);
  }

  private static Function extreme(Expression child, boolean isMax, BatchColumns columns) {
    DataType type = child.dataType();
    if (type instanceof DoubleType) {
      DoubleExpression value = DoubleExpression.of(child, columns);
      return value == null ? null : () -> new DoubleExtreme(value, isMax);
    }
    LongExpression value = LongExpression.of(child, columns);
    return value == null ? null : () -> new LongExtreme(value, type, isMax);
  }

  private static Function count(List<Expression> children, BatchColumns columns) {
    if (children.size() != 1) return null;
    Expression child = children.get(0);
    if (child instanceof Literal literal && literal.value() != null) return () -> new Counts(-1);
    if (!(columns.resolve(child) instanceof Attribute attribute)) return null;
    int ordinal = columns.ordinal(attribute);
    return ordinal < 0 ? null : () -> new Counts(ordinal);
  }

  /** Makes room for groups. */
  abstract void reserve(int groups);

  /**
   * Adds selected rows to their groups.
   *
   * @return -1, or the position of a row whose value does not fit into its group's buffer; rows
   *     before it were added
   */
  abstract int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups);

  /** Writes a group's buffers to a row at a position, and returns the next position. */
  abstract int write(int group, Object[] row, int position);

  /** Empties a group's buffers. */
  abstract void clear(int group);

  private static int capacity(int groups) {
    return Math.max(64, Integer.highestOneBit(groups) * 2);
  }

  private static final class Counts extends Accumulator {
    private final int ordinal;
    private long[] counts = new long[0];
    private boolean hasOneGroup;

    Counts(int ordinal) {
      this.ordinal = ordinal;
    }

    @Override
    void reserve(int groups) {
      hasOneGroup = groups == 1;
      if (groups > counts.length) counts = Arrays.copyOf(counts, capacity(groups));
    }

    @Override
    int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups) {
      if (ordinal < 0 || !batch.column(ordinal).hasNull()) {
        if (hasOneGroup) counts[0] += count - from;
        else for (int i = from; i < count; i++) counts[groups[i]]++;
      } else {
        for (int i = from; i < count; i++) {
          if (!batch.column(ordinal).isNullAt(rows[i])) counts[groups[i]]++;
        }
      }
      return -1;
    }

    @Override
    int write(int group, Object[] row, int position) {
      row[position] = counts[group];
      return position + 1;
    }

    @Override
    void clear(int group) {
      counts[group] = 0;
    }
  }

  /** Reads the values of an argument. */
  private abstract static class OfLongs extends Accumulator {
    private final LongExpression expression;
    long[] values = new long[0];
    boolean[] nulls = new boolean[0];

    OfLongs(LongExpression expression) {
      this.expression = expression;
    }

    /** Returns whether a value is null, as {@link LongExpression#eval} does. */
    final boolean read(ColumnarBatch batch, int[] rows, int count) {
      if (values.length < count) {
        values = new long[count];
        nulls = new boolean[count];
      }
      return expression.eval(batch, rows, count, values, nulls);
    }
  }

  /** Reads the values of an argument. */
  private abstract static class OfDoubles extends Accumulator {
    private final DoubleExpression expression;
    double[] values = new double[0];
    boolean[] nulls = new boolean[0];

    OfDoubles(DoubleExpression expression) {
      this.expression = expression;
    }

    /** Returns whether a value is null, as {@link DoubleExpression#eval} does. */
    final boolean read(ColumnarBatch batch, int[] rows, int count) {
      if (values.length < count) {
        values = new double[count];
        nulls = new boolean[count];
      }
      return expression.eval(batch, rows, count, values, nulls);
    }
  }

  /** A sum of longs, null without values. */
  private static final class Longs extends OfLongs {
    private boolean[] hasValue = new boolean[0];
    private long[] sums = new long[0];
    private boolean hasOneGroup;

    Longs(LongExpression expression) {
      super(expression);
    }

    @Override
    void reserve(int groups) {
      hasOneGroup = groups == 1;
      if (groups <= sums.length) return;
      sums = Arrays.copyOf(sums, capacity(groups));
      hasValue = Arrays.copyOf(hasValue, sums.length);
    }

    @Override
    int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups) {
      boolean hasNull = read(batch, rows, count);
      if (!hasNull) return hasOneGroup ? addToFirst(from, count) : addPresent(from, count, groups);
      for (int i = from; i < count; i++) if (!nulls[i] && !add(groups[i], values[i])) return i;
      return -1;
    }

    private int addPresent(int from, int count, int[] groups) {
      for (int i = from; i < count; i++) if (!add(groups[i], values[i])) return i;
      return -1;
    }

    /** Returns false if the sum does not fit. */
    private boolean add(int group, long value) {
      long before = sums[group];
      long sum = before + value;
      if (((before ^ sum) & (value ^ sum)) < 0) return false;
      sums[group] = sum;
      hasValue[group] = true;
      return true;
    }

    /** Keeps the sum in a register: each row would wait for the one before to be stored. */
    private int addToFirst(int from, int count) {
      long sum = sums[0];
      int i = from;
      for (; i < count; i++) {
        long next = sum + values[i];
        if (((sum ^ next) & (values[i] ^ next)) < 0) break;
        sum = next;
      }
      sums[0] = sum;
      hasValue[0] |= i > from;
      return i < count ? i : -1;
    }

    @Override
    int write(int group, Object[] row, int position) {
      row[position] = hasValue[group] ? (Object) sums[group] : null;
      return position + 1;
    }

    @Override
    void clear(int group) {
      sums[group] = 0;
      hasValue[group] = false;
    }
  }

  /** A sum of doubles, null without values; or that of an average, with the number of values. */
  private static final class Doubles extends OfDoubles {
    private final boolean isAverage;
    private double[] sums = new double[0];
    private long[] counts = new long[0];

    Doubles(DoubleExpression expression, boolean isAverage) {
      super(expression);
      this.isAverage = isAverage;
    }

    @Override
    void reserve(int groups) {
      if (groups <= sums.length) return;
      sums = Arrays.copyOf(sums, capacity(groups));
      counts = Arrays.copyOf(counts, sums.length);
    }

    @Override
    int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups) {
      boolean hasNull = read(batch, rows, count);
      for (int i = from; i < count; i++) {
        if (hasNull && nulls[i]) continue;
        sums[groups[i]] += values[i];
        counts[groups[i]]++;
      }
      return -1;
    }

    @Override
    int write(int group, Object[] row, int position) {
      row[position] = isAverage || counts[group] > 0 ? (Object) sums[group] : null;
      if (!isAverage) return position + 1;
      row[position + 1] = counts[group];
      return position + 2;
    }

    @Override
    void clear(int group) {
      sums[group] = 0;
      counts[group] = 0;
    }
  }

  private static final class LongExtreme extends OfLongs {
    private final DataType type;
    private final boolean isMax;
    private boolean[] hasValue = new boolean[0];
    private long[] extremes = new long[0];

    LongExtreme(LongExpression expression, DataType type, boolean isMax) {
      super(expression);
      this.type = type;
      this.isMax = isMax;
    }

    @Override
    void reserve(int groups) {
      if (groups <= extremes.length) return;
      extremes = Arrays.copyOf(extremes, capacity(groups));
      hasValue = Arrays.copyOf(hasValue, extremes.length);
    }

    @Override
    int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups) {
      boolean hasNull = read(batch, rows, count);
      for (int i = from; i < count; i++) {
        if (hasNull && nulls[i]) continue;
        int group = groups[i];
        boolean isBetter = isMax ? values[i] > extremes[group] : values[i] < extremes[group];
        if (isBetter || !hasValue[group]) {
          extremes[group] = values[i];
          hasValue[group] = true;
        }
      }
      return -1;
    }

    @Override
    int write(int group, Object[] row, int position) {
      row[position] = hasValue[group] ? LongExpression.boxed(extremes[group], type) : null;
      return position + 1;
    }

    @Override
    void clear(int group) {
      hasValue[group] = false;
    }
  }

  private static final class DoubleExtreme extends OfDoubles {
    private final boolean isMax;
    private boolean[] hasValue = new boolean[0];
    private double[] extremes = new double[0];

    DoubleExtreme(DoubleExpression expression, boolean isMax) {
      super(expression);
      this.isMax = isMax;
    }

    @Override
    void reserve(int groups) {
      if (groups <= extremes.length) return;
      extremes = Arrays.copyOf(extremes, capacity(groups));
      hasValue = Arrays.copyOf(hasValue, extremes.length);
    }

    @Override
    int add(ColumnarBatch batch, int[] rows, int from, int count, int[] groups) {
      boolean hasNull = read(batch, rows, count);
      for (int i = from; i < count; i++) {
        if (hasNull && nulls[i]) continue;
        int group = groups[i];
        // Most values; not true for NaN, which is the greatest value.
        boolean isWorse = isMax ? values[i] <= extremes[group] : values[i] >= extremes[group];
        if (isWorse && hasValue[group]) continue;
        // The zeros are equal.
        int compared = SQLOrderingUtil.compareDoubles(values[i], extremes[group]);
        if (!hasValue[group] || (isMax ? compared > 0 : compared < 0)) {
          extremes[group] = values[i];
          hasValue[group] = true;
        }
      }
      return -1;
    }

    @Override
    int write(int group, Object[] row, int position) {
      row[position] = hasValue[group] ? (Object) extremes[group] : null;
      return position + 1;
    }

    @Override
    void clear(int group) {
      hasValue[group] = false;
    }
  }
}
