package deltagateway.write.clustering;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Where rows lie on a curve that goes through all combinations of values, near ones after each
 * other: the Z-order curve, or Hilbert's, which makes no jumps.
 *
 * <p>Each column is an axis, divided into ranges of about as many rows each by the quantiles of a
 * sample; null is before all values. The numbers of a row's ranges are its coordinates. Below
 * these, a place has bits that only count the rows of a task, so that rows of one value can become
 * several files; they are the same when a task runs again.
 *
 * <p>Hilbert curve: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707
 * (2004).
 */
public final class SpaceFillingCurve implements Serializable {
  private static final int BITS_MAX = 14;
  private static final int PLACE_BITS_MAX = 47;
  private static final int COUNTER_BITS = 16;
  private static final long SPREAD = 0x9E3779B97F4A7C15L;

  private final DataType[] types;
  private final boolean isHilbert;
  private final int bits;

  /**
   * For each column the least values of its ranges but the first, as long[], double[] or
   * Comparable[].
   */
  private final Object[] bounds;

  /** The least places of the files but the first. */
  private long[] files = new long[0];

  private transient long rows;

  /** `sample` has rows of this schema. */
  public SpaceFillingCurve(
      StructType schema, InternalRow[] sample, boolean isHilbert, int numFiles) {
    this.isHilbert = isHilbert;
    this.types = new DataType[schema.length()];
    this.bits = Math.min(BITS_MAX, PLACE_BITS_MAX / types.length);
    this.bounds = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = schema.fields()[i].dataType();
      bounds[i] = bounds(sample, i);
    }
    long[] places = new long[sample.length];
    for (int i = 0; i < places.length; i++) places[i] = place(sample[i]);
    Arrays.sort(places);
    if (places.length > 0) files = quantiles(places, numFiles);
    rows = 0;
  }

  /** The place of a row with these values on the axes. */
  public Expression of(List<?> values) {
    ArrayList named = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      named.add(Literal$.MODULE$.apply("axis" + i));
      named.add(values.get(i));
    }
    return call(
        "place", LongType$.MODULE$, new CreateNamedStruct(ScalaConversions.seq(named)), false);
  }

  /** The number of the file that a row at this place belongs to. */
  public Expression fileOf(Expression place) {
    return call("file", IntegerType$.MODULE$, place, true);
  }

  private Expression call(
      String method, DataType type, Expression argument, boolean isDeterministic) {
    List<Expression> arguments = new ArrayList<>();
    arguments.add(argument);
    return new Invoke(
        Literal$.MODULE$.fromObject(this),
        method,
        type,
        ScalaConversions.seq(arguments),
        ScalaConversions.seq(new ArrayList<>()),
        false,
        false,
        isDeterministic);
  }

  public long place(InternalRow row) {
    int[] axes = new int[types.length];
    for (int i = 0; i < axes.length; i++) axes[i] = row.isNullAt(i) ? 0 : range(row, i);
    if (isHilbert && axes.length > 1) transpose(axes);
    long place = 0;
    for (int bit = bits - 1; bit >= 0; bit--) {
      for (int i = 0; i < axes.length; i++) place = place << 1 | (axes[i] >>> bit & 1);
    }
    return place << COUNTER_BITS | (++rows * SPREAD) >>> (64 - COUNTER_BITS);
  }

  public int file(long place) {
    return upper(files, place);
  }

  /** The coordinates become the transpose of the distance along Hilbert's curve. */
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
    int turned = 0;
    for (int bit = 1 << (bits - 1); bit > 1; bit >>= 1) {
      if ((axes[last] & bit) != 0) turned ^= bit - 1;
    }
    for (int i = 0; i <= last; i++) axes[i] ^= turned;
  }

  /** 1 for the least values; 0 is that of null. */
  private int range(InternalRow row, int column) {
    Object limits = bounds[column];
    int found;
    if (limits instanceof long[]) found = upper((long[]) limits, longAt(row, column));
    else if (limits instanceof double[]) found = upper((double[]) limits, doubleAt(row, column));
    else found = upper((Comparable[]) limits, (Comparable<?>) row.get(column, types[column]));
    return found + 1;
  }

  private long longAt(InternalRow row, int column) {
    return ((Number) row.get(column, types[column])).longValue();
  }

  private double doubleAt(InternalRow row, int column) {
    return ((Number) row.get(column, types[column])).doubleValue();
  }

  private Object bounds(InternalRow[] sample, int column) {
    int known = 0;
    for (int i = 0; i < sample.length; i++) if (!sample[i].isNullAt(column)) known++;
    int ranges = (1 << bits) - 1;
    DataType type = types[column];
    int at = 0;
    if (type instanceof DoubleType || type instanceof FloatType) {
      double[] values = new double[known];
      for (int i = 0; i < sample.length; i++)
        if (!sample[i].isNullAt(column)) values[at++] = doubleAt(sample[i], column);
      Arrays.sort(values);
      double[] limits = new double[limits(known, ranges)];
      for (int i = 0; i < limits.length; i++) limits[i] = values[place(i, known, limits.length)];
      return limits;
    }
    if (type instanceof DecimalType || type instanceof StringType) {
      Comparable<?>[] values = new Comparable[known];
      for (int i = 0; i < sample.length; i++)
        if (!sample[i].isNullAt(column)) values[at++] = kept(sample[i], column);
      Arrays.sort(values);
      Comparable<?>[] limits = new Comparable[limits(known, ranges)];
      for (int i = 0; i < limits.length; i++) limits[i] = values[place(i, known, limits.length)];
      return limits;
    }
    long[] values = new long[known];
    for (int i = 0; i < sample.length; i++)
      if (!sample[i].isNullAt(column)) values[at++] = longAt(sample[i], column);
    Arrays.sort(values);
    return known == 0 ? values : quantiles(values, ranges);
  }

  /** Rows are views of buffers, and so are their texts. */
  private Comparable<?> kept(InternalRow row, int column) {
    Object value = row.get(column, types[column]);
    return (Comparable<?>) (value instanceof UTF8String ? ((UTF8String) value).copy() : value);
  }

  private static long[] quantiles(long[] sorted, int ranges) {
    long[] limits = new long[limits(sorted.length, ranges)];
    for (int i = 0; i < limits.length; i++)
      limits[i] = sorted[place(i, sorted.length, limits.length)];
    return limits;
  }

  /** How many bounds there are between so many ranges of so many values. */
  private static int limits(int values, int ranges) {
    return Math.max(0, Math.min(ranges, values) - 1);
  }

  private static int place(int bound, int values, int limits) {
    return (int) ((bound + 1L) * values / (limits + 1));
  }

  /** How many of the bounds are not above the value. */
  private static int upper(long[] limits, long value) {
    int low = 0;
    for (int high = limits.length; low < high; ) {
      int middle = (low + high) >>> 1;
      if (limits[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private static int upper(double[] limits, double value) {
    int low = 0;
    for (int high = limits.length; low < high; ) {
      int middle = (low + high) >>> 1;
      if (Double.compare(limits[middle], value) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private static int upper(Comparable<Comparable<?>>[] limits, Comparable<?> value) {
    int low = 0;
    for (int high = limits.length; low < high; ) {
      int middle = (low + high) >>> 1;
      if (limits[middle].compareTo(value) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  public boolean equals(Object other) {
    return this == other;
  }

  public int hashCode() {
    return System.identityHashCode(this);
  }

  public String toString() {
    return "SpaceFillingCurve";
  }
}
