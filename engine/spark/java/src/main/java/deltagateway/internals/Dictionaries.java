package deltagateway.internals;

import java.lang.reflect.Field;
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;

/** The dictionaries of Spark's column vectors, to which Spark has no public way. */
public final class Dictionaries {
  private static final Field DICTIONARY = PrivateField.of(WritableColumnVector.class, "dictionary");
  private static final Field IN_FILE = PrivateField.of(ParquetDictionary.class, "dictionary");

  private Dictionaries() {}

  /**
   * Returns an object that identifies the values of a vector's ids: vectors of one column with the
   * same object have the same value for an id. Spark's Parquet reader wraps the dictionary of a
   * column chunk for each batch, so the wrapped one is returned.
   *
   * @return null for a vector without a dictionary, and if Spark has no such field
   */
  public static Object identity(WritableColumnVector vector) {
    try {
      Object dictionary = DICTIONARY == null ? null : DICTIONARY.get(vector);
      boolean isWrapped = IN_FILE != null && dictionary instanceof ParquetDictionary;
      return isWrapped ? IN_FILE.get(dictionary) : dictionary;
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }
}
