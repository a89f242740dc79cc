package deltagateway.scan.rowids;

import deltagateway.internals.PrivateField;
import java.lang.reflect.Field;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.ParquetRowIndexUtil;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import scala.collection.Iterator;

/**
 * Generates the column of row indexes by counting. Spark's generator boxes each index in an
 * iterator, which costs more than reading a column of numbers.
 *
 * <p>Spark has no setting for another generator, so this one replaces Spark's in the private field
 * of the batch reader. Without such a field, Spark's generator stays.
 */
public final class RowIndexCounter extends ParquetRowIndexUtil.RowIndexGenerator {
  private static final Field READER = PrivateField.of(RecordReaderIterator.class, "rowReader");
  private static final Field GENERATOR =
      PrivateField.of(VectorizedParquetRecordReader.class, "rowIndexGenerator");

  private boolean hasNoGaps;
  private long next;

  private RowIndexCounter(int position) {
    super(position);
  }

  /** Makes the reader of `rows`, if it returns batches, count the column at this position. */
  public static void count(Iterator<?> rows, int position) {
    if (READER == null || GENERATOR == null || !(rows instanceof RecordReaderIterator)) return;
    try {
      Object reader = READER.get(rows);
      if (reader instanceof VectorizedParquetRecordReader)
        GENERATOR.set(reader, new RowIndexCounter(position));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }

  @Override
  public void initFromPageReadStore(PageReadStore group) {
    hasNoGaps = group.getRowIndexOffset().isPresent() && group.getRowIndexes().isEmpty();
    if (hasNoGaps) next = group.getRowIndexOffset().get();
    else super.initFromPageReadStore(group);
  }

  @Override
  public void populateRowIndex(WritableColumnVector column, int count) {
    if (hasNoGaps) for (int row = 0; row < count; row++) column.putLong(row, next++);
    else super.populateRowIndex(column, count);
  }
}
