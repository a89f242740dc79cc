package deltagateway.aggregate;

import deltagateway.internals.Dictionaries;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A grouping column: numbers its values from 1 in the order in which they are first seen. The
 * number of null is 0.
 */
abstract class GroupKey {
  /** The column's position in a batch, and its type. */
  record Column(int ordinal, DataType type) implements Serializable {
    /** Returns the column; null for a type that cannot be a key here. */
    static Column of(Attribute attribute, BatchColumns columns) {
      int ordinal = columns.ordinal(attribute);
      DataType type = attribute.dataType();
      boolean isKey = type.equals(StringType$.MODULE$) || LongExpression.Width.of(type) != null;
      return ordinal < 0 || !isKey ? null : new Column(ordinal, type);
    }

    GroupKey start() {
      return type.equals(StringType$.MODULE$) ? new Texts(ordinal) : new Longs(ordinal, type);
    }
  }

  final int ordinal;
  private boolean hasNull;

  private GroupKey(int ordinal) {
    this.ordinal = ordinal;
  }

  /** Writes the number of each selected row's value. */
  final void number(ColumnarBatch batch, int[] rows, int count, int[] numbers) {
    ColumnVector vector = batch.column(ordinal);
    if (!vector.hasNull()) {
      numberValues(vector, rows, count, numbers);
      return;
    }
    // A dictionary has no entry for a null, so null rows are not read.
    int[] present = new int[count];
    int values = 0;
    for (int i = 0; i < count; i++) if (!vector.isNullAt(rows[i])) present[values++] = rows[i];
    hasNull |= values < count;
    int[] found = new int[values];
    numberValues(vector, present, values, found);
    for (int i = 0, next = 0; i < count; i++) {
      numbers[i] = next < values && present[next] == rows[i] ? found[next++] : 0;
    }
  }

  /** Numbers the values of rows that are not null. */
  abstract void numberValues(ColumnVector vector, int[] rows, int count, int[] numbers);

  /** Returns the number of values without null. */
  abstract int size();

  /** Returns the value with a number above 0, in Spark's internal form. */
  abstract Object present(int number);

  final Object value(int number) {
    return number == 0 ? null : present(number);
  }

  final boolean hasNull() {
    return hasNull;
  }

  private static final class Longs extends GroupKey {
    private final DataType type;
    private final LongExpression.Width width;
    private final LongTable table = new LongTable();
    private long[] values = new long[0];

    Longs(int ordinal, DataType type) {
      super(ordinal);
      this.type = type;
      this.width = LongExpression.Width.of(type);
    }

    @Override
    void numberValues(ColumnVector vector, int[] rows, int count, int[] numbers) {
      if (values.length < count) values = new long[count];
      LongExpression.read(vector, width, rows, count, values);
      for (int i = 0; i < count; i++) numbers[i] = table.number(values[i]) + 1;
    }

    @Override
    int size() {
      return table.size();
    }

    @Override
    Object present(int number) {
      return LongExpression.boxed(table.value(number - 1), type);
    }
  }

  private static final class Texts extends GroupKey {
    private final Map<UTF8String, Integer> numbers = new HashMap<>();
    private final List<UTF8String> values = new ArrayList<>();
    private Object dictionary;

    /** By the id in the dictionary; 0: not yet looked up. */
    private int[] numberOfId = new int[64];

    Texts(int ordinal) {
      super(ordinal);
    }

    @Override
    void numberValues(ColumnVector vector, int[] rows, int count, int[] found) {
      if (!(vector instanceof WritableColumnVector writable && writable.hasDictionary())) {
        for (int i = 0; i < count; i++) found[i] = number(vector.getUTF8String(rows[i]));
        return;
      }
      WritableColumnVector ids = writable.getDictionaryIds();
      startDictionary(writable);
      for (int i = 0; i < count; i++) {
        int id = ids.getDictId(rows[i]);
        if (id >= numberOfId.length) {
          numberOfId = Arrays.copyOf(numberOfId, Math.max(id + 1, 2 * numberOfId.length));
        }
        if (numberOfId[id] == 0) numberOfId[id] = number(vector.getUTF8String(rows[i]));
        found[i] = numberOfId[id];
      }
    }

    private void startDictionary(WritableColumnVector vector) {
      Object current = Dictionaries.identity(vector);
      if (current == null || current != dictionary) Arrays.fill(numberOfId, 0);
      dictionary = current;
    }

    private int number(UTF8String text) {
      Integer known = numbers.get(text);
      if (known != null) return known;
      UTF8String copy = text.copy();
      values.add(copy);
      numbers.put(copy, values.size());
      return values.size();
    }

    @Override
    int size() {
      return values.size();
    }

    @Override
    Object present(int number) {
      return values.get(number - 1);
    }
  }
}
