package deltagateway.scan;

import deltagateway.internals.PrivateField;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;

/**
 * Vectors over the arrays of another one. Spark closes the batch that a task has at hand when it
 * ends, and what is closed has no arrays any more: so whoever reads kept columns is given vectors
 * of its own, which share what is in them.
 *
 * <p>Spark's vectors have no such constructor, so their private fields are copied. Where Spark has
 * other fields nothing is kept ({@link #isKnown}).
 */
public final class SharedColumnVectors {
  private static final String[] ARRAYS = {
    "nulls", "byteData", "shortData", "intData", "longData", "floatData", "doubleData"
  };

  /** Of `OnHeapColumnVector`, then those of its base class. */
  private static final Field[] FIELDS = fields();

  private static final Field NULLS = PrivateField.of(OnHeapColumnVector.class, "nulls");

  private static final Field CAPACITY = PrivateField.of(WritableColumnVector.class, "capacity");

  private static final Field IDS = PrivateField.of(WritableColumnVector.class, "dictionaryIds");

  private SharedColumnVectors() {}

  public static boolean isKnown() {
    return FIELDS != null && IDS != null;
  }

  /**
   * An empty vector for texts that are numbers of a dictionary: without the places and bytes that
   * others need.
   */
  public static OnHeapColumnVector forNumbers(int rows, DataType type) {
    OnHeapColumnVector empty = new OnHeapColumnVector(0, type);
    try {
      NULLS.set(empty, new byte[rows]);
      CAPACITY.set(empty, Integer.valueOf(rows));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
    return empty;
  }

  /** A vector of the same values, of no text but by a dictionary. */
  public static OnHeapColumnVector of(OnHeapColumnVector kept) {
    OnHeapColumnVector shared = copy(kept, kept.dataType());
    WritableColumnVector ids = kept.getDictionaryIds();
    try {
      if (ids != null) IDS.set(shared, copy((OnHeapColumnVector) ids, ids.dataType()));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
    return shared;
  }

  private static OnHeapColumnVector copy(OnHeapColumnVector kept, DataType type) {
    OnHeapColumnVector copy = new OnHeapColumnVector(0, type);
    try {
      for (int i = 0; i < FIELDS.length; i++) FIELDS[i].set(copy, FIELDS[i].get(kept));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
    return copy;
  }

  private static Field[] fields() {
    List<Field> found = new ArrayList<>();
    for (int i = 0; i < ARRAYS.length; i++)
      found.add(PrivateField.of(OnHeapColumnVector.class, ARRAYS[i]));
    found.addAll(
        Arrays.asList(
            PrivateField.of(WritableColumnVector.class, "capacity"),
            PrivateField.of(WritableColumnVector.class, "numNulls"),
            PrivateField.of(WritableColumnVector.class, "dictionary")));
    return found.contains(null) ? null : found.toArray(new Field[0]);
  }
}
