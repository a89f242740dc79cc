package deltagateway.write.clustering;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Positions of rows on a curve through all combinations of values of several columns, on which
 * similar rows are near each other: the Z-order curve, or Hilbert's, which has no jumps.
 *
 * <p>Each column is an axis, divided into ranges of about as many rows by the quantiles of a
 * sample; null is before all values. The numbers of a row's ranges are its coordinates. The low
 * bits of a position count the rows of a task, so that rows of one value can become several files;
 * they are the same when a task runs again.
 *
 * <p>Hilbert curve: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707
 * (2004).
 */
public final class SpaceFillingCurve implements Serializable {
  private static final long serialVersionUID = 1;
  private static final int BITS_MAX = 14;
  private static final int POSITION_BITS_MAX = 47;
  private static final int COUNTER_BITS = 16;

  /** The golden ratio in 64 bits, which spreads consecutive numbers evenly. */
  private static final long SPREAD = 0x9E3779B97F4A7C15L;

  private final boolean isHilbert;
  private final int bits;
  private final Bounds[] axes;

  /** The lowest positions of the files but the first. */
  private final long[] files;

  private transient long rows;

  /** `sample` has rows of this schema. */
  public SpaceFillingCurve(
      StructType schema, InternalRow[] sample, boolean isHilbert, int numFiles) {
    this.isHilbert = isHilbert;
    this.bits = Math.min(BITS_MAX, POSITION_BITS_MAX / schema.length());
    this.axes = new Bounds[schema.length()];
    for (int i = 0; i < axes.length; i++)
      axes[i] = bounds(sample, i, schema.fields()[i].dataType(), (1 << bits) - 1);
    this.files = quantiles(Arrays.stream(sample).mapToLong(this::place).sorted(), numFiles);
    rows = 0;
  }

  /** Returns the position of a row with these values on the axes. */
  public Expression of(List<Expression> values) {
    List<Expression> named = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      named.add(Literal$.MODULE$.apply("axis" + i));
      named.add(values.get(i));
    }
    return call(
        "place", LongType$.MODULE$, new CreateNamedStruct(ScalaConversions.seq(named)), false);
  }

  /** Returns the number of the file that contains a row at this position. */
  public Expression fileOf(Expression position) {
    return call("file", IntegerType$.MODULE$, position, true);
  }

  private Expression call(
      String method, DataType type, Expression argument, boolean isDeterministic) {
    return new Invoke(
        Literal$.MODULE$.fromObject(this),
        method,
        type,
        ScalaConversions.seq(List.of(argument)),
        ScalaConversions.emptySeq(),
        false,
        false,
        isDeterministic);
  }

  /** Called by generated code; see {@link #of}. */
  public long place(InternalRow row) {
    int[] coordinates = new int[axes.length];
    for (int i = 0; i < axes.length; i++)
      coordinates[i] = row.isNullAt(i) ? 0 : axes[i].countUpTo(row) + 1;
    if (isHilbert && axes.length > 1) transpose(coordinates);
    long position = 0;
    for (int bit = bits - 1; bit >= 0; bit--) {
      for (int coordinate : coordinates) position = position << 1 | (coordinate >>> bit & 1);
    }
    return position << COUNTER_BITS | (++rows * SPREAD) >>> (64 - COUNTER_BITS);
  }

  /** Called by generated code; see {@link #fileOf}. */
  public int file(long position) {
    return countUpTo(files, position);
  }

  /** Replaces coordinates by the transpose of the distance along Hilbert's curve. */
  private void transpose(int[] axes) {
    int last = axes.length - 1;
    for (int bit = 1 << (bits - 1); bit > 1; bit >>= 1) {
      int below = bit - 1;
      for (int i = 0; i <= last; i++) {
        if ((axes[i] & bit) != 0) {
          axes[0] ^= below;
        } else {
          int swapped = (axes[0] ^ axes[i]) & below;
          axes[0] ^= swapped;
          axes[i] ^= swapped;
        }
      }
    }
    for (int i = 1; i <= last; i++) axes[i] ^= axes[i - 1];
    int flipped = 0;
    for (int bit = 1 << (bits - 1); bit > 1; bit >>= 1) {
      if ((axes[last] & bit) != 0) flipped ^= bit - 1;
    }
    for (int i = 0; i <= last; i++) axes[i] ^= flipped;
  }

  /** The lowest values of the ranges of a column but the first. */
  private interface Bounds extends Serializable {
    /** Returns how many bounds are not above the value of a row. */
    int countUpTo(InternalRow row);
  }

  private record Longs(int column, DataType type, long[] bounds) implements Bounds {
    static long value(InternalRow row, int column, DataType type) {
      return ((Number) row.get(column, type)).longValue();
    }

    @Override
    public int countUpTo(InternalRow row) {
      return SpaceFillingCurve.countUpTo(bounds, value(row, column, type));
    }
  }

  private record Doubles(int column, DataType type, double[] bounds) implements Bounds {
    static double value(InternalRow row, int column, DataType type) {
      return ((Number) row.get(column, type)).doubleValue();
    }

    @Override
    public int countUpTo(InternalRow row) {
      double value = value(row, column, type);
      int low = 0;
      for (int high = bounds.length; low < high; ) {
        int middle = (low + high) >>> 1;
        if (Double.compare(bounds[middle], value) <= 0) low = middle + 1;
        else high = middle;
      }
      return low;
    }
  }

  private record Objects<T extends Comparable<? super T>>(
      int column, DataType type, Class<T> valueClass, List<T> bounds) implements Bounds {
    static <T extends Comparable<? super T>> Objects<T> of(
        Stream<InternalRow> sample, int column, DataType type, Class<T> valueClass, int ranges) {
      List<T> sorted =
          sample.map(row -> valueClass.cast(copy(row.get(column, type)))).sorted().toList();
      List<T> bounds = new ArrayList<>();
      for (int position : positions(sorted.size(), ranges)) bounds.add(sorted.get(position));
      return new Objects<>(column, type, valueClass, bounds);
    }

    /** Rows of a sample share one buffer with their strings. */
    private static Object copy(Object value) {
      return value instanceof UTF8String string ? string.copy() : value;
    }

    @Override
    public int countUpTo(InternalRow row) {
      T value = valueClass.cast(row.get(column, type));
      int low = 0;
      for (int high = bounds.size(); low < high; ) {
        int middle = (low + high) >>> 1;
        if (bounds.get(middle).compareTo(value) <= 0) low = middle + 1;
        else high = middle;
      }
      return low;
    }
  }

  private static Bounds bounds(InternalRow[] sample, int column, DataType type, int ranges) {
    Stream<InternalRow> known = Arrays.stream(sample).filter(row -> !row.isNullAt(column));
    if (type instanceof DoubleType || type instanceof FloatType) {
      double[] sorted =
          known.mapToDouble(row -> Doubles.value(row, column, type)).sorted().toArray();
      double[] bounds =
          Arrays.stream(positions(sorted.length, ranges))
              .mapToDouble(position -> sorted[position])
              .toArray();
      return new Doubles(column, type, bounds);
    }
    if (type instanceof StringType)
      return Objects.of(known, column, type, UTF8String.class, ranges);
    if (type instanceof DecimalType) return Objects.of(known, column, type, Decimal.class, ranges);
    return new Longs(
        column,
        type,
        quantiles(known.mapToLong(row -> Longs.value(row, column, type)).sorted(), ranges));
  }

  private static long[] quantiles(LongStream values, int ranges) {
    long[] sorted = values.toArray();
    return Arrays.stream(positions(sorted.length, ranges))
        .mapToLong(position -> sorted[position])
        .toArray();
  }

  /** Returns the positions of the bounds between so many ranges in so many sorted values. */
  private static int[] positions(int values, int ranges) {
    int count = Math.max(0, Math.min(ranges, values) - 1);
    return IntStream.range(0, count)
        .map(bound -> (int) ((bound + 1L) * values / (count + 1)))
        .toArray();
  }

  /** Returns how many bounds are not above the value. */
  private static int countUpTo(long[] bounds, long value) {
    int low = 0;
    for (int high = bounds.length; low < high; ) {
      int middle = (low + high) >>> 1;
      if (bounds[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Literals with equal values are exchangeable for Spark; two curves must not share a counter.
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  @Override
  public String toString() {
    return "SpaceFillingCurve";
  }
}
