package deltagateway.scan;

import deltagateway.internals.PrivateField;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;

/**
 * Creates column vectors over the arrays of another one. Spark closes the current batch of a task
 * when the task ends, which releases the arrays of its vectors. Readers of cached columns therefore
 * get vectors of their own.
 *
 * <p>Spark's vectors have no constructor that takes arrays, so the private fields are copied. With
 * a Spark that has other fields, no columns are cached ({@link #isKnown}).
 */
public final class SharedColumnVectors {
  /** The fields that hold values; null if Spark does not have one of them. */
  private static final Field[] FIELDS = fields();

  private static final Field NULLS = PrivateField.of(OnHeapColumnVector.class, "nulls");
  private static final Field CAPACITY = PrivateField.of(WritableColumnVector.class, "capacity");
  private static final Field IDS = PrivateField.of(WritableColumnVector.class, "dictionaryIds");

  private SharedColumnVectors() {}

  public static boolean isKnown() {
    return FIELDS != null && IDS != null;
  }

  /**
   * Returns an empty vector for dictionary ids, without the offsets and bytes that a vector of
   * strings allocates.
   */
  public static OnHeapColumnVector forDictionaryIds(int rows, DataType type) {
    OnHeapColumnVector empty = new OnHeapColumnVector(0, type);
    set(NULLS, empty, new byte[rows]);
    set(CAPACITY, empty, rows);
    return empty;
  }

  /** Returns a vector of the same values; strings must be in a dictionary. */
  public static OnHeapColumnVector of(OnHeapColumnVector cached) {
    return of(cached, new OnHeapColumnVector(0, cached.dataType()));
  }

  /**
   * Returns `reused`, which may be closed, with the values of another vector of its type. Creating
   * a vector takes several times longer, since it reads settings.
   */
  public static OnHeapColumnVector of(OnHeapColumnVector cached, OnHeapColumnVector reused) {
    WritableColumnVector old = reused.getDictionaryIds();
    copy(cached, reused);
    if (cached.getDictionaryIds() instanceof OnHeapColumnVector ids) {
      OnHeapColumnVector own =
          old instanceof OnHeapColumnVector known
              ? known
              : new OnHeapColumnVector(0, ids.dataType());
      copy(ids, own);
      set(IDS, reused, own);
    }
    return reused;
  }

  private static void copy(OnHeapColumnVector vector, OnHeapColumnVector to) {
    try {
      for (Field field : FIELDS) field.set(to, field.get(vector));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }

  private static void set(Field field, OnHeapColumnVector vector, Object value) {
    try {
      field.set(vector, value);
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }

  private static Field[] fields() {
    List<Field> found = new ArrayList<>();
    for (String name :
        List.of("nulls", "byteData", "shortData", "intData", "longData", "floatData", "doubleData"))
      found.add(PrivateField.of(OnHeapColumnVector.class, name));
    for (String name : List.of("capacity", "numNulls", "dictionary"))
      found.add(PrivateField.of(WritableColumnVector.class, name));
    return found.contains(null) ? null : found.toArray(new Field[0]);
  }
}
