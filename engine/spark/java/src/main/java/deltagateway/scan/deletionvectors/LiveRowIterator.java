package deltagateway.scan.deletionvectors;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The rows of one file as its reader gives them, batches or rows, with those that are not live told
 * apart: in a batch their row index becomes {@link #DEAD}, which a condition above the scan drops,
 * single rows are left out. So a batch costs its deleted rows and not all of them. The rows of a
 * deletion vector are not live; of a vector that selects rows all others are not. Of a vector that
 * tells rows apart all others stay, and {@link #OTHER} is in their row index.
 *
 * <p>The reader fills the column of row indexes (physical ones, in ascending order, with gaps where
 * parts of the file are skipped) for each batch.
 */
public final class LiveRowIterator extends scala.collection.AbstractIterator {
  public static final long DEAD = -1;

  /** The bit of a row index that is set for rows which are told from those of a vector. */
  public static final long OTHER = Long.MIN_VALUE;

  /** What becomes of the rows in a vector, or of those that are not. */
  public enum Use {
    DROPS,
    SELECTS,
    TELLS
  }

  private final scala.collection.Iterator<Object> rows;
  private final int rowIndex;
  private final DeletionVector vector;
  private final Use use;
  private DeletionVector.Rows marked;
  private long next;
  private Object ahead;

  /** `rowIndex` is the position of the column of row indexes. */
  LiveRowIterator(
      scala.collection.Iterator<Object> rows, int rowIndex, DeletionVector vector, Use use) {
    this.rows = rows;
    this.rowIndex = rowIndex;
    this.vector = vector;
    this.use = use;
  }

  public boolean hasNext() {
    while (ahead == null && rows.hasNext()) {
      Object found = rows.next();
      if (found instanceof ColumnarBatch) mark((ColumnarBatch) found);
      ahead = found instanceof ColumnarBatch ? found : kept((InternalRow) found);
    }
    return ahead != null;
  }

  public Object next() {
    if (!hasNext()) throw new java.util.NoSuchElementException();
    Object found = ahead;
    ahead = null;
    return found;
  }

  /** A row of a batch cannot be changed. */
  private InternalRow kept(InternalRow found) {
    long row = found.getLong(rowIndex);
    boolean isInVector = isInVector(row);
    if (use != Use.TELLS) return isInVector == (use == Use.SELECTS) ? found : null;
    if (isInVector) return found;
    InternalRow other = found.copy();
    other.setLong(rowIndex, row | OTHER);
    return other;
  }

  private boolean isInVector(long row) {
    seek(row);
    return row == next;
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
        indexes.putLong(at, use == Use.TELLS ? row | OTHER : DEAD);
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
