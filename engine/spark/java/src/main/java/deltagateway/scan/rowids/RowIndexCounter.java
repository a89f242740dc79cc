package deltagateway.scan.rowids;

import deltagateway.internals.PrivateField;
import java.lang.reflect.Field;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.ParquetRowIndexUtil;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;

/**
 * The column of row indexes, counted up. Spark's own boxes each number on its way through an
 * iterator, which costs more than reading a column of numbers does.
 *
 * <p>Spark has no place for another generator, so it takes the place of Spark's in the field where
 * the batch reader keeps it; where there is no such field, Spark's stays.
 */
public final class RowIndexCounter extends ParquetRowIndexUtil.RowIndexGenerator {
  private static final Field READER = PrivateField.of(RecordReaderIterator.class, "rowReader");
  private static final Field GENERATOR =
      PrivateField.of(VectorizedParquetRecordReader.class, "rowIndexGenerator");

  private boolean isGapless;
  private long next;

  private RowIndexCounter(int position) {
    super(position);
  }

  /** Makes the reader of `rows`, if it reads batches, count up the column at this position. */
  public static void count(scala.collection.Iterator<?> rows, int position) {
    if (READER == null || GENERATOR == null || !(rows instanceof RecordReaderIterator)) return;
    try {
      Object reader = READER.get(rows);
      if (reader instanceof VectorizedParquetRecordReader)
        GENERATOR.set(reader, new RowIndexCounter(position));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }

  public void initFromPageReadStore(PageReadStore group) {
    isGapless = group.getRowIndexOffset().isPresent() && !group.getRowIndexes().isPresent();
    if (isGapless) next = group.getRowIndexOffset().get().longValue();
    else super.initFromPageReadStore(group);
  }

  public void populateRowIndex(WritableColumnVector column, int count) {
    if (isGapless) for (int at = 0; at < count; at++) column.putLong(at, next++);
    else super.populateRowIndex(column, count);
  }
}
