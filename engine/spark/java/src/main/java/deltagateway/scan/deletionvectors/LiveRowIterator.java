package deltagateway.scan.deletionvectors;

import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Applies a deletion vector to the batches or rows of one file's reader.
 *
 * <p>In a batch, the row index of a deleted row becomes {@link #DEAD}, which a filter above the
 * scan drops; single rows are left out. So the cost of a batch depends on its deleted rows only. A
 * vector that selects rows deletes all others. A vector that flags rows deletes none; the row
 * indexes of all others get the bit {@link #OTHER}.
 *
 * <p>The reader fills the column of row indexes for each batch. They are physical, in ascending
 * order, with gaps if parts of the file are skipped.
 */
public final class LiveRowIterator extends AbstractIterator<Object> {
  public static final long DEAD = -1;

  /** The bit in the row indexes of rows that are not in a vector which flags rows. */
  public static final long OTHER = Long.MIN_VALUE;

  /** Effect of a vector on the rows in it, or on all others. */
  public enum Use {
    DROPS,
    SELECTS,
    FLAGS
  }

  private final Iterator<?> rows;
  private final int rowIndex;
  private final DeletionVector vector;
  private final Use use;
  private DeletionVector.Rows vectorRows;
  private long nextVectorRow;
  private Object next;

  /** `rowIndex` is the position of the column of row indexes. */
  LiveRowIterator(Iterator<?> rows, int rowIndex, DeletionVector vector, Use use) {
    this.rows = rows;
    this.rowIndex = rowIndex;
    this.vector = vector;
    this.use = use;
  }

  @Override
  public boolean hasNext() {
    while (next == null && rows.hasNext()) {
      Object found = rows.next();
      if (found instanceof ColumnarBatch batch) mark(batch);
      next = found instanceof InternalRow row ? live(row) : found;
    }
    return next != null;
  }

  @Override
  public Object next() {
    if (!hasNext()) throw new NoSuchElementException();
    Object found = next;
    next = null;
    return found;
  }

  /** Returns the row, or null if it is deleted. Rows of batches are immutable, hence the copy. */
  private InternalRow live(InternalRow found) {
    long row = found.getLong(rowIndex);
    boolean isInVector = isInVector(row);
    if (use != Use.FLAGS) return isInVector == (use == Use.SELECTS) ? found : null;
    if (isInVector) return found;
    InternalRow other = found.copy();
    other.setLong(rowIndex, row | OTHER);
    return other;
  }

  private boolean isInVector(long row) {
    seek(row);
    return row == nextVectorRow;
  }

  private void mark(ColumnarBatch batch) {
    WritableColumnVector indexes = (WritableColumnVector) batch.column(rowIndex);
    if (use != Use.DROPS) markOthers(indexes, batch.numRows());
    else if (batch.numRows() > 0) markDeleted(indexes, batch.numRows());
  }

  private void markOthers(WritableColumnVector indexes, int count) {
    for (int at = 0; at < count; at++) {
      long row = indexes.getLong(at);
      if (row != DEAD && !isInVector(row))
        indexes.putLong(at, use == Use.FLAGS ? row | OTHER : DEAD);
    }
  }

  private void markDeleted(WritableColumnVector indexes, int count) {
    long first = indexes.getLong(0);
    long last = indexes.getLong(count - 1);
    boolean hasGaps = last - first != count - 1;
    seek(first);
    for (int at = 0; nextVectorRow <= last; nextVectorRow = vectorRows.next()) {
      if (!hasGaps) at = (int) (nextVectorRow - first);
      else while (indexes.getLong(at) < nextVectorRow) at++;
      if (indexes.getLong(at) == nextVectorRow) indexes.putLong(at++, DEAD);
    }
  }

  /** Moves to the first row of the vector that is not before `row`. */
  private void seek(long row) {
    if (vectorRows == null || nextVectorRow < row) {
      vectorRows = vector.from(row);
      nextVectorRow = vectorRows.next();
    }
  }
}
