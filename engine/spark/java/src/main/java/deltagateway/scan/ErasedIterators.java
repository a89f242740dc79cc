package deltagateway.scan;

import scala.collection.Iterator;

/** Iterators whose elements have another type than Spark's interfaces declare. */
public final class ErasedIterators {
  private ErasedIterators() {}

  /**
   * Returns the iterator with the declared element type.
   *
   * <p>Spark declares readers of files to return rows also if they return batches, and relations
   * without conversion to return external rows. It relies on erasure; so must their Java code.
   */
  @SuppressWarnings("unchecked")
  public static <T> Iterator<T> as(Iterator<?> elements) {
    return (Iterator<T>) elements;
  }
}
