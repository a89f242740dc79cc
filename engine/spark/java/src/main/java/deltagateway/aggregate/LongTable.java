package deltagateway.aggregate;

import java.util.Arrays;

/** Numbers longs in the order in which they are first seen: an open-addressing hash table. */
final class LongTable {
  private static final int CAPACITY = 64;

  private long[] keys = new long[CAPACITY];
  private int[] numbers = new int[CAPACITY];
  private long[] values = new long[CAPACITY];
  private int size;

  LongTable() {
    Arrays.fill(numbers, -1);
  }

  /** Returns the number of a value, which is {@link #size} before the call if it is new. */
  int number(long value) {
    int mask = keys.length - 1;
    int slot = hash(value) & mask;
    while (numbers[slot] >= 0) {
      if (keys[slot] == value) return numbers[slot];
      slot = slot + 1 & mask;
    }
    keys[slot] = value;
    numbers[slot] = size;
    if (size == values.length) values = Arrays.copyOf(values, 2 * size);
    values[size++] = value;
    if (2 * size > keys.length) grow();
    return size - 1;
  }

  int size() {
    return size;
  }

  long value(int number) {
    return values[number];
  }

  private void grow() {
    keys = new long[2 * keys.length];
    numbers = new int[keys.length];
    Arrays.fill(numbers, -1);
    int mask = keys.length - 1;
    for (int number = 0; number < size; number++) {
      int slot = hash(values[number]) & mask;
      while (numbers[slot] >= 0) slot = slot + 1 & mask;
      keys[slot] = values[number];
      numbers[slot] = number;
    }
  }

  private static int hash(long value) {
    long mixed = value * 0x9E3779B97F4A7C15L;
    return (int) (mixed ^ mixed >>> 32);
  }
}
