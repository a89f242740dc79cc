package deltagateway.aggregate;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Decimal$;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * An expression whose values are longs, evaluated on selected rows of a batch at once.
 *
 * <p>Dates, timestamps, booleans (0 and 1) and decimals of up to 18 digits (unscaled) are longs
 * too.
 */
abstract class LongExpression implements Serializable {
  private static final long serialVersionUID = 1L;

  /**
   * Evaluates the rows {@code rows[0..count)} of a batch.
   *
   * @return whether a value is null; only then {@code nulls} is written
   * @throws ArithmeticException if a value does not fit
   */
  abstract boolean eval(ColumnarBatch batch, int[] rows, int count, long[] values, boolean[] nulls);

  /**
   * Returns the expression over the columns of a batch; null if it is not one of those supported.
   */
  static LongExpression of(Expression expression, BatchColumns columns) {
    if (expression instanceof AttributeReference attribute) {
      Expression source = columns.resolve(attribute);
      if (source != attribute) return of(source, columns);
      int ordinal = columns.ordinal(attribute);
      Width width = Width.of(attribute.dataType());
      return ordinal < 0 || width == null ? null : new Column(ordinal, width);
    }
    if (expression instanceof UnscaledValue unscaled) return of(unscaled.child(), columns);
    if (expression instanceof Literal literal) {
      return literal.value() == null || Width.of(literal.dataType()) == null
          ? null
          : new Constant(unboxed(literal.value()));
    }
    if (expression instanceof Cast cast) {
      boolean widens =
          cast.dataType() instanceof LongType && cast.child().dataType() instanceof IntegralType;
      return widens ? of(cast.child(), columns) : null;
    }
    Operator operator = Operator.of(expression);
    if (operator == null) return null;
    LongExpression left = of(expression.children().apply(0), columns);
    LongExpression right = of(expression.children().apply(1), columns);
    return left == null || right == null ? null : new Operation(operator, left, right);
  }

  /** Returns a literal's value as a long. */
  static long unboxed(Object value) {
    if (value instanceof Boolean truth) return truth ? 1 : 0;
    if (value instanceof Decimal decimal) return decimal.toUnscaledLong();
    return ((Number) value).longValue();
  }

  /** Returns a value of a type in Spark's internal form. */
  static Object boxed(long value, DataType type) {
    if (type instanceof BooleanType) return value != 0;
    if (type instanceof ByteType) return (byte) value;
    if (type instanceof ShortType) return (short) value;
    if (type instanceof DecimalType decimal) {
      return Decimal.createUnsafe(value, decimal.precision(), decimal.scale());
    }
    return Width.of(type) == Width.INT ? (Object) (int) value : (Object) value;
  }

  /** How a column vector stores the values of a type. */
  enum Width {
    BIT,
    BYTE,
    SHORT,
    INT,
    LONG;

    /** Returns null for types whose values are not longs. */
    static Width of(DataType type) {
      if (type instanceof BooleanType) return BIT;
      if (type instanceof ByteType) return BYTE;
      if (type instanceof ShortType) return SHORT;
      if (type instanceof IntegerType || type instanceof DateType) return INT;
      if (type instanceof LongType
          || type instanceof TimestampType
          || type instanceof TimestampNTZType) {
        return LONG;
      }
      if (!(type instanceof DecimalType decimal)) return null;
      if (decimal.precision() <= Decimal$.MODULE$.MAX_INT_DIGITS()) return INT;
      return decimal.precision() <= Decimal$.MODULE$.MAX_LONG_DIGITS() ? LONG : null;
    }
  }

  /** Returns whether the expression has the same value for all rows of all batches. */
  boolean isConstant() {
    return false;
  }

  /** Returns whether selected rows, which are in order, are the first ones of a batch. */
  static boolean areFirst(int[] rows, int count) {
    return count > 0 && rows[count - 1] == count - 1;
  }

  /** Reads the values of a column; those of null rows are undefined. */
  static void read(ColumnVector vector, Width width, int[] rows, int count, long[] values) {
    if (areFirst(rows, count)) {
      readFirst(vector, width, count, values);
      return;
    }
    switch (width) {
      case BIT -> {
        for (int i = 0; i < count; i++) values[i] = vector.getBoolean(rows[i]) ? 1 : 0;
      }
      case BYTE -> {
        for (int i = 0; i < count; i++) values[i] = vector.getByte(rows[i]);
      }
      case SHORT -> {
        for (int i = 0; i < count; i++) values[i] = vector.getShort(rows[i]);
      }
      case INT -> {
        for (int i = 0; i < count; i++) values[i] = vector.getInt(rows[i]);
      }
      case LONG -> {
        for (int i = 0; i < count; i++) values[i] = vector.getLong(rows[i]);
      }
    }
  }

  /** A vector copies its array at once, which is several times faster than a call for each row. */
  private static void readFirst(ColumnVector vector, Width width, int count, long[] values) {
    switch (width) {
      case BIT -> {
        boolean[] found = vector.getBooleans(0, count);
        for (int i = 0; i < count; i++) values[i] = found[i] ? 1 : 0;
      }
      case BYTE -> {
        byte[] found = vector.getBytes(0, count);
        for (int i = 0; i < count; i++) values[i] = found[i];
      }
      case SHORT -> {
        short[] found = vector.getShorts(0, count);
        for (int i = 0; i < count; i++) values[i] = found[i];
      }
      case INT -> {
        int[] found = vector.getInts(0, count);
        for (int i = 0; i < count; i++) values[i] = found[i];
      }
      case LONG -> System.arraycopy(vector.getLongs(0, count), 0, values, 0, count);
    }
  }

  private static final class Column extends LongExpression {
    private static final long serialVersionUID = 1L;

    private final int ordinal;
    private final Width width;

    Column(int ordinal, Width width) {
      this.ordinal = ordinal;
      this.width = width;
    }

    @Override
    boolean eval(ColumnarBatch batch, int[] rows, int count, long[] values, boolean[] nulls) {
      ColumnVector vector = batch.column(ordinal);
      if (!vector.hasNull()) {
        read(vector, width, rows, count, values);
        return false;
      }
      // A dictionary has no entry for a null, so null rows are not read.
      int[] present = new int[count];
      int length = 0;
      for (int i = 0; i < count; i++) {
        nulls[i] = vector.isNullAt(rows[i]);
        if (!nulls[i]) present[length++] = rows[i];
      }
      if (length == count) {
        read(vector, width, rows, count, values);
        return false;
      }
      long[] found = new long[length];
      read(vector, width, present, length, found);
      for (int i = 0, next = 0; i < count; i++) if (!nulls[i]) values[i] = found[next++];
      return true;
    }
  }

  private static final class Constant extends LongExpression {
    private static final long serialVersionUID = 1L;

    private final long value;

    Constant(long value) {
      this.value = value;
    }

    @Override
    boolean isConstant() {
      return true;
    }

    @Override
    boolean eval(ColumnarBatch batch, int[] rows, int count, long[] values, boolean[] nulls) {
      Arrays.fill(values, 0, count, value);
      return false;
    }
  }

  private enum Operator {
    ADD,
    SUBTRACT,
    MULTIPLY,
    SHIFT_RIGHT,
    AND;

    /**
     * Returns the operator of an expression whose operands are longs and which fails if its value
     * does not fit.
     */
    static Operator of(Expression expression) {
      if (expression instanceof ShiftRight && expression.dataType() instanceof LongType) {
        return SHIFT_RIGHT;
      }
      if (!(expression.dataType() instanceof LongType)) return null;
      if (expression instanceof BitwiseAnd) return AND;
      if (expression instanceof Add add) return isExact(add.evalMode()) ? ADD : null;
      if (expression instanceof Subtract sub) return isExact(sub.evalMode()) ? SUBTRACT : null;
      if (expression instanceof Multiply by) return isExact(by.evalMode()) ? MULTIPLY : null;
      return null;
    }

    private static boolean isExact(scala.Enumeration.Value mode) {
      return mode.equals(EvalMode$.MODULE$.ANSI());
    }

    long apply(long left, long right) {
      return switch (this) {
        case ADD -> Math.addExact(left, right);
        case SUBTRACT -> Math.subtractExact(left, right);
        case MULTIPLY -> Math.multiplyExact(left, right);
        case SHIFT_RIGHT -> left >> right;
        case AND -> left & right;
      };
    }
  }

  private static final class Operation extends LongExpression {
    private static final long serialVersionUID = 1L;

    private final Operator operator;
    private final LongExpression left;
    private final LongExpression right;

    Operation(Operator operator, LongExpression left, LongExpression right) {
      this.operator = operator;
      this.left = left;
      this.right = right;
    }

    @Override
    boolean eval(ColumnarBatch batch, int[] rows, int count, long[] values, boolean[] nulls) {
      boolean hasNull = left.eval(batch, rows, count, values, nulls);
      long[] others = new long[count];
      boolean[] otherNulls = new boolean[count];
      boolean otherHasNull = right.eval(batch, rows, count, others, otherNulls);
      if (!hasNull && !otherHasNull) {
        for (int i = 0; i < count; i++) values[i] = operator.apply(values[i], others[i]);
        return false;
      }
      for (int i = 0; i < count; i++) {
        nulls[i] = (hasNull && nulls[i]) || (otherHasNull && otherNulls[i]);
        if (!nulls[i]) values[i] = operator.apply(values[i], others[i]);
      }
      return true;
    }
  }
}
