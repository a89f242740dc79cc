package deltagateway.cache;

import deltagateway.internals.PrivateField;
import deltagateway.scan.SharedColumnVectors;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal$;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * A copy of one column, batch by batch, of vectors that their reader fills again and again. The
 * copies are vectors of the same class, as the code that Spark makes for a scan names it.
 *
 * <p>Numbers are copied as they are read; a dictionary is looked up here once and not for each
 * query. Texts are copied as numbers of a dictionary: that of the file as far as its values occur,
 * or else one of each batch, which takes less memory than a vector's own texts, as these have a
 * null for each byte.
 */
public final class DecodedColumn {
  /** Of a batch: the vector and its arrays besides their values. */
  private static final int VECTOR_BYTES = 300;

  /** Of a text: its number, and whether either is null. */
  private static final int TEXT_BYTES = Integer.BYTES + 2;

  private static final Field DICTIONARY = PrivateField.of(WritableColumnVector.class, "dictionary");

  private final DataType type;
  private final List<OnHeapColumnVector> batches = new ArrayList<>();
  private OnHeapColumnVector[] vectors;
  private Object source;
  private Texts texts;
  private long bytes;

  DecodedColumn(DataType type) {
    this.type = type;
  }

  static boolean copies(DataType type) {
    return type instanceof BooleanType || width(type) > 0 || type.equals(StringType$.MODULE$);
  }

  /** Bytes of a number; 0: it is none. */
  private static int width(DataType type) {
    if (type instanceof ByteType) return 1;
    if (type instanceof ShortType) return 2;
    if (type instanceof IntegerType || type instanceof DateType || type instanceof FloatType)
      return 4;
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) return 8;
    if (type instanceof DoubleType) return 8;
    if (!(type instanceof DecimalType)) return 0;
    int precision = ((DecimalType) type).precision();
    if (precision <= Decimal$.MODULE$.MAX_INT_DIGITS()) return 4;
    return precision <= Decimal$.MODULE$.MAX_LONG_DIGITS() ? 8 : 0;
  }

  /** About what the copies take, without waste of the heap's own. */
  long bytes() {
    return bytes;
  }

  /** To be called when there will be no more copies, before other threads see the column. */
  void end() {
    vectors = batches.toArray(new OnHeapColumnVector[0]);
  }

  OnHeapColumnVector[] batches() {
    return vectors;
  }

  /** Copies the first `count` rows. */
  void add(OnHeapColumnVector from, int count) {
    boolean isText = type.equals(StringType$.MODULE$);
    int rows = Math.max(count, 1);
    OnHeapColumnVector to =
        isText ? SharedColumnVectors.forNumbers(rows, type) : new OnHeapColumnVector(rows, type);
    bytes += VECTOR_BYTES + (isText ? TEXT_BYTES : width(type) + 1) * (long) count;
    batches.add(to);
    if (from.hasNull() || from.isAllNull()) {
      for (int row = 0; row < count; row++) if (from.isNullAt(row)) to.putNull(row);
    }
    if (isText) addTexts(from, to, count);
    else if (!from.hasNull() && !from.isAllNull()) addAll(from, to, count);
    else for (int row = 0; row < count; row++) if (!from.isNullAt(row)) addOne(from, to, row);
  }

  private void addAll(OnHeapColumnVector from, OnHeapColumnVector to, int count) {
    if (type instanceof BooleanType || type instanceof ByteType) {
      for (int row = 0; row < count; row++) addOne(from, to, row);
    } else if (type instanceof ShortType) {
      to.putShorts(0, count, from.getShorts(0, count), 0);
    } else if (type instanceof FloatType) {
      to.putFloats(0, count, from.getFloats(0, count), 0);
    } else if (type instanceof DoubleType) {
      to.putDoubles(0, count, from.getDoubles(0, count), 0);
    } else if (width(type) == Integer.BYTES) {
      to.putInts(0, count, from.getInts(0, count), 0);
    } else {
      to.putLongs(0, count, from.getLongs(0, count), 0);
    }
  }

  private void addOne(OnHeapColumnVector from, OnHeapColumnVector to, int row) {
    if (type instanceof BooleanType) to.putBoolean(row, from.getBoolean(row));
    else if (type instanceof ByteType) to.putByte(row, from.getByte(row));
    else if (type instanceof ShortType) to.putShort(row, from.getShort(row));
    else if (type instanceof FloatType) to.putFloat(row, from.getFloat(row));
    else if (type instanceof DoubleType) to.putDouble(row, from.getDouble(row));
    else if (width(type) == Integer.BYTES) to.putInt(row, from.getInt(row));
    else to.putLong(row, from.getLong(row));
  }

  private void addTexts(OnHeapColumnVector from, OnHeapColumnVector to, int count) {
    Object dictionary = from.hasDictionary() ? dictionary(from) : null;
    if (dictionary == null || dictionary != source) {
      source = dictionary;
      texts = new Texts();
    }
    WritableColumnVector places = to.reserveDictionaryIds(Math.max(count, 1));
    for (int row = 0; row < count; row++) {
      if (from.isNullAt(row)) continue;
      int place = dictionary == null ? row : from.getDictionaryIds().getDictId(row);
      if (!texts.has(place)) bytes += texts.put(place, from.getBinary(row));
      places.putInt(row, place);
    }
    to.setDictionary(texts);
  }

  /** Null where Spark has no such field, as of a vector without a dictionary. */
  private static Object dictionary(WritableColumnVector column) {
    try {
      return DICTIONARY == null ? null : DICTIONARY.get(column);
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }

  /** Texts by their numbers; complete before the first of them is read. */
  private static final class Texts implements Dictionary {
    private byte[][] values = new byte[64][];

    boolean has(int place) {
      return place < values.length && values[place] != null;
    }

    /** Answers what the text takes. */
    long put(int place, byte[] text) {
      if (place >= values.length)
        values = Arrays.copyOf(values, Math.max(place + 1, 2 * values.length));
      values[place] = text;
      return 24 + text.length; // with its header and its place
    }

    public byte[] decodeToBinary(int place) {
      return values[place];
    }

    public int decodeToInt(int place) {
      throw new UnsupportedOperationException();
    }

    public long decodeToLong(int place) {
      throw new UnsupportedOperationException();
    }

    public float decodeToFloat(int place) {
      throw new UnsupportedOperationException();
    }

    public double decodeToDouble(int place) {
      throw new UnsupportedOperationException();
    }
  }
}
