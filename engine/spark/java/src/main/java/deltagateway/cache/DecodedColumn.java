package deltagateway.cache;

import deltagateway.internals.Dictionaries;
import deltagateway.scan.SharedColumnVectors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A copy of one column, batch by batch, from vectors that their reader reuses. The copies have the
 * same class, because the code that Spark generates for a scan contains its name.
 *
 * <p>Numbers are copied decoded, so that a dictionary is looked up once and not by each query.
 * Strings are copied as ids of a dictionary, also those of batches that have none in the file. If
 * there are few, all batches share it, so that a query looks up each string once. This takes less
 * memory than the strings of a vector, which has a null flag for each byte.
 */
public final class DecodedColumn {
  /** Bytes of the vector of a batch without its values. */
  private static final int VECTOR_BYTES = 300;

  /** Bytes of a string's id and of two null flags. */
  private static final int ID_BYTES = Integer.BYTES + 2;

  /** Bytes of a string without its characters: the array's header and its reference. */
  private static final int STRING_BYTES = 24;

  /** Number of strings from which on another dictionary is begun. */
  private static final int STRINGS_MAX = 1 << 14;

  private final DataType type;
  private final boolean isString;
  private final List<OnHeapColumnVector> batches = new ArrayList<>();
  private OnHeapColumnVector[] vectors;
  private Strings strings = new Strings();

  /** The file's dictionary of the last batch; null if it had none. */
  private Object source;

  /** By the id in that dictionary: the id here plus 1; 0: not yet known. */
  private int[] idOfSource;

  private long bytes;

  DecodedColumn(DataType type) {
    this.type = type;
    this.isString = type.equals(StringType$.MODULE$);
  }

  /** Returns whether columns of a type can be copied. */
  static boolean supports(DataType type) {
    return type instanceof BooleanType || width(type) > 0 || type.equals(StringType$.MODULE$);
  }

  /** Returns the bytes of a number, or 0 for other types. */
  private static int width(DataType type) {
    if (type instanceof ByteType) return 1;
    if (type instanceof ShortType) return 2;
    if (type instanceof IntegerType || type instanceof DateType || type instanceof FloatType)
      return 4;
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof DoubleType) return 8;
    if (!(type instanceof DecimalType decimal)) return 0;
    if (decimal.precision() <= Decimal$.MODULE$.MAX_INT_DIGITS()) return 4;
    return decimal.precision() <= Decimal$.MODULE$.MAX_LONG_DIGITS() ? 8 : 0;
  }

  /** Returns about how many bytes the copies take. */
  long bytes() {
    return bytes;
  }

  /** Ends the copying, before other threads read the column. */
  void end() {
    strings.end();
    vectors = batches.toArray(new OnHeapColumnVector[0]);
  }

  OnHeapColumnVector[] batches() {
    return vectors;
  }

  /** Copies the first `count` rows. */
  void add(OnHeapColumnVector from, int count) {
    int rows = Math.max(count, 1);
    OnHeapColumnVector to =
        isString
            ? SharedColumnVectors.forDictionaryIds(rows, type)
            : new OnHeapColumnVector(rows, type);
    bytes += VECTOR_BYTES + (isString ? ID_BYTES : width(type) + 1) * (long) count;
    batches.add(to);
    boolean mayBeNull = from.hasNull() || from.isAllNull();
    for (int row = 0; mayBeNull && row < count; row++) if (from.isNullAt(row)) to.putNull(row);
    if (isString) addStrings(from, to, count);
    else if (!mayBeNull) addAll(from, to, count);
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

  private void addStrings(OnHeapColumnVector from, OnHeapColumnVector to, int count) {
    Object dictionary = from.hasDictionary() ? Dictionaries.identity(from) : null;
    if (dictionary == null || dictionary != source) {
      source = dictionary;
      idOfSource = new int[64];
      if (strings.size() > STRINGS_MAX) {
        strings.end();
        strings = new Strings();
      }
    }
    WritableColumnVector ids = to.reserveDictionaryIds(Math.max(count, 1));
    for (int row = 0; row < count; row++) {
      if (from.isNullAt(row)) continue;
      ids.putInt(row, dictionary == null ? id(from, row) : idOf(from, row));
    }
    to.setDictionary(strings);
  }

  /** Returns the id of a string in the dictionary of its file. */
  private int idOf(OnHeapColumnVector from, int row) {
    int id = from.getDictionaryIds().getDictId(row);
    if (id >= idOfSource.length)
      idOfSource = Arrays.copyOf(idOfSource, Math.max(id + 1, 2 * idOfSource.length));
    if (idOfSource[id] == 0) idOfSource[id] = id(from, row) + 1;
    return idOfSource[id] - 1;
  }

  private int id(OnHeapColumnVector from, int row) {
    byte[] string = from.getBinary(row);
    int before = strings.size();
    int id = strings.id(string);
    if (strings.size() > before) bytes += STRING_BYTES + string.length;
    return id;
  }

  /** Strings by their ids; complete before the first one is read. */
  private static final class Strings implements Dictionary {
    private byte[][] values = new byte[64][];
    private Map<UTF8String, Integer> ids = new HashMap<>();
    private int size;

    int size() {
      return size;
    }

    int id(byte[] string) {
      Integer known = ids.putIfAbsent(UTF8String.fromBytes(string), size);
      if (known != null) return known;
      if (size == values.length) values = Arrays.copyOf(values, 2 * size);
      values[size] = string;
      return size++;
    }

    /** Ends the collection. */
    void end() {
      ids = null;
    }

    @Override
    public byte[] decodeToBinary(int id) {
      return values[id];
    }

    @Override
    public int decodeToInt(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long decodeToLong(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public float decodeToFloat(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public double decodeToDouble(int id) {
      throw new UnsupportedOperationException();
    }
  }
}
