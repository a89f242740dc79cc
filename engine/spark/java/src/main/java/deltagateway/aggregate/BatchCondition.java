package deltagateway.aggregate;

import deltagateway.internals.Dictionaries;
import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** A condition that selects rows of a batch: those for which it is true. */
abstract class BatchCondition implements Serializable {
  private static final long serialVersionUID = 1L;

  /**
   * Moves the positions of selected rows to the beginning of {@code rows}, in order, and returns
   * their number.
   */
  abstract int select(ColumnarBatch batch, int[] rows, int count);

  /**
   * Returns the condition over the columns of a batch; null if it is not one of those supported.
   */
  static BatchCondition of(Expression condition, BatchColumns columns) {
    if (condition instanceof And and) {
      BatchCondition left = of(and.left(), columns);
      BatchCondition right = left == null ? null : of(and.right(), columns);
      return right == null ? null : new Both(left, right);
    }
    if (condition instanceof Or or) {
      BatchCondition left = of(or.left(), columns);
      BatchCondition right = left == null ? null : of(or.right(), columns);
      return right == null ? null : new Either(left, right);
    }
    if (condition instanceof IsNotNull notNull && notNull.child() instanceof Attribute attribute) {
      int ordinal = columns.ordinal(attribute);
      return ordinal < 0 ? null : new NotNull(ordinal);
    }
    BatchCondition numbers = numbers(condition, columns);
    return numbers != null ? numbers : texts(condition, columns);
  }

  private static BatchCondition numbers(Expression condition, BatchColumns columns) {
    boolean isNegated = condition instanceof Not;
    Expression positive = condition instanceof Not not ? not.child() : condition;
    if (positive instanceof BinaryComparison comparison) {
      Comparison operator = Comparison.of(positive, isNegated);
      if (operator == null || !hasOneScale(comparison)) return null;
      LongExpression left = LongExpression.of(comparison.left(), columns);
      LongExpression right = LongExpression.of(comparison.right(), columns);
      return left == null || right == null ? null : new Compared(operator, left, right);
    }
    LongExpression value;
    if (positive instanceof Attribute && positive.dataType() instanceof BooleanType) {
      value = LongExpression.of(positive, columns);
      return value == null ? null : new Listed(value, new long[] {1}, isNegated);
    }
    long[] values = values(positive);
    if (values == null) return null;
    value = LongExpression.of(positive.children().apply(0), columns);
    return value == null ? null : new Listed(value, values, isNegated);
  }

  /** Returns whether unscaled decimals may be compared. */
  private static boolean hasOneScale(BinaryComparison comparison) {
    DataType left = comparison.left().dataType();
    DataType right = comparison.right().dataType();
    if (left instanceof DecimalType one && right instanceof DecimalType other) {
      return one.scale() == other.scale();
    }
    return left.equals(right);
  }

  /** Returns the sorted values of an IN over literals without nulls; null for other conditions. */
  private static long[] values(Expression condition) {
    List<Object> found = new ArrayList<>();
    if (condition instanceof In in) {
      for (Expression item : ScalaConversions.list(in.list())) {
        if (!(item instanceof Literal literal)) return null;
        found.add(literal.value());
      }
    } else if (condition instanceof InSet in) {
      for (scala.collection.Iterator<Object> all = in.hset().iterator(); all.hasNext(); ) {
        found.add(all.next());
      }
    } else {
      return null;
    }
    Expression value = condition.children().apply(0);
    if (found.contains(null) || LongExpression.Width.of(value.dataType()) == null) return null;
    return found.stream().mapToLong(LongExpression::unboxed).sorted().toArray();
  }

  private static final Set<Class<?>> OF_TEXTS =
      Set.of(
          EqualTo.class,
          In.class,
          InSet.class,
          StartsWith.class,
          EndsWith.class,
          Contains.class,
          Like.class);

  /** Returns a condition on one string column and literals. */
  private static BatchCondition texts(Expression condition, BatchColumns columns) {
    Expression positive = condition instanceof Not not ? not.child() : condition;
    if (!OF_TEXTS.contains(positive.getClass())) return null;
    Attribute column = null;
    for (Expression operand : ScalaConversions.list(positive.children())) {
      if (operand instanceof AttributeReference attribute && column == null) column = attribute;
      else if (!(operand instanceof Literal)) return null;
    }
    if (column == null || !column.dataType().equals(StringType$.MODULE$)) return null;
    int ordinal = columns.ordinal(column);
    if (ordinal < 0) return null;
    return new OfTexts(
        new BatchColumns(ScalaConversions.seq(List.of(column))).bind(condition), ordinal);
  }

  private static final class Both extends BatchCondition {
    private static final long serialVersionUID = 1L;

    private final BatchCondition left;
    private final BatchCondition right;

    Both(BatchCondition left, BatchCondition right) {
      this.left = left;
      this.right = right;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      return right.select(batch, rows, left.select(batch, rows, count));
    }
  }

  private static final class Either extends BatchCondition {
    private static final long serialVersionUID = 1L;

    private final BatchCondition left;
    private final BatchCondition right;

    Either(BatchCondition left, BatchCondition right) {
      this.left = left;
      this.right = right;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      int[] one = Arrays.copyOf(rows, count);
      int ones = left.select(batch, one, count);
      // The right condition is evaluated only where the left one is not true, as by Spark.
      int[] other = new int[count];
      int others = 0;
      for (int i = 0, next = 0; i < count; i++) {
        if (next < ones && one[next] == rows[i]) next++;
        else other[others++] = rows[i];
      }
      others = right.select(batch, other, others);
      int selected = 0;
      for (int i = 0, j = 0; i < ones || j < others; ) {
        boolean isLeft = j == others || (i < ones && one[i] < other[j]);
        rows[selected++] = isLeft ? one[i++] : other[j++];
      }
      return selected;
    }
  }

  private static final class NotNull extends BatchCondition {
    private static final long serialVersionUID = 1L;

    private final int ordinal;

    NotNull(int ordinal) {
      this.ordinal = ordinal;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      ColumnVector vector = batch.column(ordinal);
      if (!vector.hasNull()) return count;
      int selected = 0;
      for (int i = 0; i < count; i++) if (!vector.isNullAt(rows[i])) rows[selected++] = rows[i];
      return selected;
    }
  }

  private enum Comparison {
    EQUAL,
    UNEQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL;

    static Comparison of(Expression comparison, boolean isNegated) {
      if (comparison instanceof EqualTo) return isNegated ? UNEQUAL : EQUAL;
      if (comparison instanceof LessThan) return isNegated ? GREATER_OR_EQUAL : LESS;
      if (comparison instanceof LessThanOrEqual) return isNegated ? GREATER : LESS_OR_EQUAL;
      if (comparison instanceof GreaterThan) return isNegated ? LESS_OR_EQUAL : GREATER;
      if (comparison instanceof GreaterThanOrEqual) return isNegated ? LESS : GREATER_OR_EQUAL;
      return null;
    }

    /** Selects rows by their values. */
    int select(int[] rows, int count, long[] left, long[] right) {
      int selected = 0;
      switch (this) {
        case EQUAL -> {
          for (int i = 0; i < count; i++) if (left[i] == right[i]) rows[selected++] = rows[i];
        }
        case UNEQUAL -> {
          for (int i = 0; i < count; i++) if (left[i] != right[i]) rows[selected++] = rows[i];
        }
        case LESS -> {
          for (int i = 0; i < count; i++) if (left[i] < right[i]) rows[selected++] = rows[i];
        }
        case LESS_OR_EQUAL -> {
          for (int i = 0; i < count; i++) if (left[i] <= right[i]) rows[selected++] = rows[i];
        }
        case GREATER -> {
          for (int i = 0; i < count; i++) if (left[i] > right[i]) rows[selected++] = rows[i];
        }
        case GREATER_OR_EQUAL -> {
          for (int i = 0; i < count; i++) if (left[i] >= right[i]) rows[selected++] = rows[i];
        }
      }
      return selected;
    }
  }

  private static final class Compared extends BatchCondition {
    private static final long serialVersionUID = 1L;

    private final Comparison comparison;
    private final LongExpression left;
    private final LongExpression right;

    // Reused for the batches of a task.
    private transient long[] values;
    private transient long[] others;
    private transient boolean[] nulls;
    private transient boolean[] otherNulls;

    Compared(Comparison comparison, LongExpression left, LongExpression right) {
      this.comparison = comparison;
      this.left = left;
      this.right = right;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      boolean isReused = values != null && values.length >= count;
      if (!isReused) {
        values = new long[count];
        others = new long[count];
        nulls = new boolean[count];
        otherNulls = new boolean[count];
      }
      boolean hasNull = left.eval(batch, rows, count, values, nulls);
      boolean otherHasNull = false;
      if (!(isReused && right.isConstant())) {
        otherHasNull = right.eval(batch, rows, count, others, otherNulls);
      }
      if (!hasNull && !otherHasNull) return comparison.select(rows, count, values, others);
      int filled = 0;
      for (int i = 0; i < count; i++) {
        if ((hasNull && nulls[i]) || (otherHasNull && otherNulls[i])) continue;
        rows[filled] = rows[i];
        values[filled] = values[i];
        others[filled++] = others[i];
      }
      return comparison.select(rows, filled, values, others);
    }
  }

  private static final class Listed extends BatchCondition {
    private static final long serialVersionUID = 1L;

    private final LongExpression value;
    private final long[] list;
    private final boolean isNegated;

    Listed(LongExpression value, long[] list, boolean isNegated) {
      this.value = value;
      this.list = list;
      this.isNegated = isNegated;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      long[] values = new long[count];
      boolean[] nulls = new boolean[count];
      boolean hasNull = value.eval(batch, rows, count, values, nulls);
      int selected = 0;
      for (int i = 0; i < count; i++) {
        if (hasNull && nulls[i]) continue;
        if (Arrays.binarySearch(list, values[i]) >= 0 != isNegated) rows[selected++] = rows[i];
      }
      return selected;
    }
  }

  /** Evaluates a condition by Spark's expression, once for each entry of a dictionary. */
  private static final class OfTexts extends BatchCondition {
    private static final long serialVersionUID = 1L;
    private static final byte FALSE = 1;
    private static final byte TRUE = 2;

    private final Expression condition;
    private final int ordinal;
    private transient BasePredicate predicate;

    /** By the id in the dictionary; 0: not yet evaluated. */
    private transient byte[] outcomes;

    private transient Object dictionary;

    OfTexts(Expression condition, int ordinal) {
      this.condition = condition;
      this.ordinal = ordinal;
    }

    @Override
    int select(ColumnarBatch batch, int[] rows, int count) {
      if (predicate == null) {
        predicate = Predicate.createInterpreted(condition);
        predicate.initialize(0);
      }
      ColumnVector vector = batch.column(ordinal);
      WritableColumnVector ids = null;
      if (vector instanceof WritableColumnVector writable && writable.hasDictionary()) {
        ids = writable.getDictionaryIds();
        startDictionary(writable);
      }
      boolean hasNull = vector.hasNull();
      int selected = 0;
      for (int i = 0; i < count; i++) {
        int row = rows[i];
        if (hasNull && vector.isNullAt(row)) continue;
        boolean outcome;
        if (ids == null) {
          outcome = isTrue(vector, row);
        } else {
          int id = ids.getDictId(row);
          if (id >= outcomes.length)
            outcomes = Arrays.copyOf(outcomes, Math.max(id + 1, 2 * outcomes.length));
          if (outcomes[id] == 0) outcomes[id] = isTrue(vector, row) ? TRUE : FALSE;
          outcome = outcomes[id] == TRUE;
        }
        if (outcome) rows[selected++] = row;
      }
      return selected;
    }

    private void startDictionary(WritableColumnVector vector) {
      Object current = Dictionaries.identity(vector);
      if (current == null || current != dictionary) outcomes = new byte[64];
      dictionary = current;
    }

    private boolean isTrue(ColumnVector vector, int row) {
      return predicate.eval(new GenericInternalRow(new Object[] {vector.getUTF8String(row)}));
    }
  }
}
