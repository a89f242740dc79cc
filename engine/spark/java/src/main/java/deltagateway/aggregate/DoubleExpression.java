package deltagateway.aggregate;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** An expression whose values are doubles: a column of floating-point or whole numbers. */
abstract class DoubleExpression implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Evaluates selected rows as {@link LongExpression#eval} does. */
  abstract boolean eval(
      ColumnarBatch batch, int[] rows, int count, double[] values, boolean[] nulls);

  /** Returns the expression, cast to DOUBLE; null if it is not one of those supported. */
  static DoubleExpression of(Expression expression, BatchColumns columns) {
    if (expression instanceof Cast cast && cast.dataType() instanceof DoubleType) {
      return cast.child().dataType() instanceof IntegralType ? of(cast.child(), columns) : null;
    }
    if (expression.dataType() instanceof IntegralType) {
      LongExpression whole = LongExpression.of(expression, columns);
      return whole == null ? null : new Whole(whole);
    }
    if (!(expression instanceof AttributeReference attribute)) return null;
    Expression source = columns.resolve(attribute);
    if (source != attribute) return of(source, columns);
    int ordinal = columns.ordinal(attribute);
    boolean isSingle = attribute.dataType() instanceof FloatType;
    boolean isFloating = isSingle || attribute.dataType() instanceof DoubleType;
    return ordinal < 0 || !isFloating ? null : new Column(ordinal, isSingle);
  }

  private static final class Column extends DoubleExpression {
    private static final long serialVersionUID = 1L;

    private final int ordinal;
    private final boolean isSingle;

    Column(int ordinal, boolean isSingle) {
      this.ordinal = ordinal;
      this.isSingle = isSingle;
    }

    @Override
    boolean eval(ColumnarBatch batch, int[] rows, int count, double[] values, boolean[] nulls) {
      ColumnVector vector = batch.column(ordinal);
      if (!vector.hasNull() && LongExpression.areFirst(rows, count)) {
        readFirst(vector, count, values);
        return false;
      }
      boolean mayHaveNull = vector.hasNull();
      boolean hasNull = false;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (mayHaveNull) {
          nulls[i] = vector.isNullAt(row);
          hasNull |= nulls[i];
          if (nulls[i]) continue;
        }
        values[i] = isSingle ? vector.getFloat(row) : vector.getDouble(row);
      }
      return hasNull;
    }

    private void readFirst(ColumnVector vector, int count, double[] values) {
      if (!isSingle) {
        System.arraycopy(vector.getDoubles(0, count), 0, values, 0, count);
        return;
      }
      float[] found = vector.getFloats(0, count);
      for (int i = 0; i < count; i++) values[i] = found[i];
    }
  }

  private static final class Whole extends DoubleExpression {
    private static final long serialVersionUID = 1L;

    private final LongExpression whole;

    Whole(LongExpression whole) {
      this.whole = whole;
    }

    @Override
    boolean eval(ColumnarBatch batch, int[] rows, int count, double[] values, boolean[] nulls) {
      long[] longs = new long[count];
      boolean hasNull = whole.eval(batch, rows, count, longs, nulls);
      for (int i = 0; i < count; i++) values[i] = longs[i];
      return hasNull;
    }
  }
}
