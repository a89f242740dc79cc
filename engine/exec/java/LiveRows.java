package deltagateway;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of one file as its reader gives them, batches or rows, with those that are not live told apart: in a batch
 * their row index becomes {@link #DEAD}, which a condition above the scan drops, single rows are left out. So a batch
 * costs its deleted rows and not all of them. The rows of a deletion vector are not live; of a vector that selects rows
 * all others are not.
 *
 * The reader fills the column of row indexes (physical ones, in ascending order, with gaps where parts of the file are
 * skipped) for each batch.
 */
final class LiveRows extends scala.collection.AbstractIterator {
  static final long DEAD = -1;

  private final scala.collection.Iterator rows;
  private final int rowIndex;
  private final DeletionVector vector;
  private final boolean selects;
  private DeletionVector.Rows marked;
  private long next;
  private Object ahead;

  /** `rowIndex` is the position of the column of row indexes. */
  LiveRows(scala.collection.Iterator rows, int rowIndex, DeletionVector vector, boolean selects) {
    this.rows = rows;
    this.rowIndex = rowIndex;
    this.vector = vector;
    this.selects = selects;
  }

  public boolean hasNext() {
    while (ahead == null && rows.hasNext()) {
      Object found = rows.next();
      if (found instanceof ColumnarBatch) mark((ColumnarBatch) found);
      else if (isInVector(((InternalRow) found).getLong(rowIndex)) != selects) continue;
      ahead = found;
    }
    return ahead != null;
  }

  public Object next() {
    if (!hasNext()) throw new java.util.NoSuchElementException();
    Object found = ahead;
    ahead = null;
    return found;
  }

  private boolean isInVector(long row) {
    seek(row);
    return row == next;
  }

  private void mark(ColumnarBatch batch) {
    WritableColumnVector indexes = (WritableColumnVector) batch.column(rowIndex);
    if (selects) markOthers(indexes, batch.numRows());
    else if (batch.numRows() > 0) markDeleted(indexes, batch.numRows());
  }

  private void markOthers(WritableColumnVector indexes, int count) {
    for (int at = 0; at < count; at++) {
      long row = indexes.getLong(at);
      if (row != DEAD && !isInVector(row)) indexes.putLong(at, DEAD);
    }
  }

  private void markDeleted(WritableColumnVector indexes, int count) {
    long first = indexes.getLong(0);
    long last = indexes.getLong(count - 1);
    boolean hasGaps = last - first != count - 1;
    seek(first);
    for (int at = 0; next <= last; next = marked.next()) {
      if (!hasGaps) at = (int) (next - first);
      else while (indexes.getLong(at) < next) at++;
      if (indexes.getLong(at) == next) indexes.putLong(at++, DEAD);
    }
  }

  /** Makes `next` the first row of the vector that is not before `row`. */
  private void seek(long row) {
    if (marked == null || next < row) {
      marked = vector.from(row);
      next = marked.next();
    }
  }
}
