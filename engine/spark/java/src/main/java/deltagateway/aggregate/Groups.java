package deltagateway.aggregate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Groups of rows by grouping columns, numbered in the order in which they are first seen. */
final class Groups {
  private final List<GroupKey> keys = new ArrayList<>();

  /** For each key but the first: pairs of the group by the keys before it, and the key's number. */
  private final List<LongTable> pairs = new ArrayList<>();

  private int[] numbers = new int[0];

  Groups(List<GroupKey.Column> columns) {
    for (GroupKey.Column column : columns) {
      keys.add(column.start());
      pairs.add(new LongTable());
    }
  }

  /** Returns the first group's number: with one key, 0 is the group of null. */
  int first() {
    return keys.size() == 1 && !keys.get(0).hasNull() ? 1 : 0;
  }

  /** Returns the number after the last group's; without grouping columns there is one group. */
  int end() {
    if (keys.isEmpty()) return 1;
    return keys.size() == 1 ? keys.get(0).size() + 1 : pairs.get(keys.size() - 1).size();
  }

  /** Writes the group of each selected row. */
  void assign(ColumnarBatch batch, int[] rows, int count, int[] groups) {
    if (keys.isEmpty()) {
      Arrays.fill(groups, 0, count, 0);
      return;
    }
    keys.get(0).number(batch, rows, count, groups);
    if (keys.size() > 1 && numbers.length < count) numbers = new int[count];
    for (int key = 1; key < keys.size(); key++) {
      keys.get(key).number(batch, rows, count, numbers);
      LongTable table = pairs.get(key);
      for (int i = 0; i < count; i++) {
        groups[i] = table.number((long) groups[i] << Integer.SIZE | numbers[i]);
      }
    }
  }

  /** Writes a group's key values to the beginning of a row. */
  void values(int group, Object[] row) {
    int prefix = group;
    for (int key = keys.size() - 1; key > 0; key--) {
      long pair = pairs.get(key).value(prefix);
      row[key] = keys.get(key).value((int) pair);
      prefix = (int) (pair >>> Integer.SIZE);
    }
    if (!keys.isEmpty()) row[0] = keys.get(0).value(prefix);
  }
}
