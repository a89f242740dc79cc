package deltagateway.cache;

import deltagateway.optimizer.OptimizerRule;
import deltagateway.scan.SharedColumnVectors;
import deltagateway.scan.rowids.RowIndexCounter;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.vectorized.ColumnVectorUtils;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads files whose columns are kept ({@link ColumnCache}) from memory: batches like those of
 * Spark's own reader, with all rows of a file, of which conditions above the scan leave what is
 * asked for.
 *
 * <p>Columns that are to be kept are read as a whole at once, since a query with a LIMIT never
 * comes to their end. A file that cannot be read so is read as if nothing was kept, and says by
 * itself what is wrong with it.
 *
 * <p>Only files of this machine are kept: to ask a store on the network for the state of one takes
 * as long as to read it.
 */
public final class CachedColumnReader extends scala.runtime.AbstractFunction1
    implements Serializable {
  /** In the file: a larger one is not worth to be read at once. */
  private static final long FILE_MAX = 128L << 20;

  private final scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader;
  private final scala.Function1 whole;
  private final boolean ofSomePages;
  private final StructType columns;
  private final StructType constants;
  private final int rowIndex;
  private final String[] names;
  private final String meaning;
  private final int percent;

  /**
   * `reader` leaves out pages, `whole` does not; both are Spark's, and the same where there are no
   * filters. `rowIndex` is the place of the row indexes among `columns`, which are those of the
   * files; -1: they are not asked for. `settings` is all that values of a file follow from besides.
   */
  public CachedColumnReader(
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader,
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> whole,
      StructType columns,
      StructType constants,
      int rowIndex,
      String settings,
      int percent) {
    this.reader = reader;
    this.whole = whole;
    this.ofSomePages = reader != whole;
    this.columns = columns;
    this.constants = constants;
    this.rowIndex = rowIndex;
    this.names = new String[columns.length() - (rowIndex < 0 ? 0 : 1)];
    for (int i = 0, next = 0; i < columns.length(); i++) {
      if (i != rowIndex)
        names[next++] = new StructType(new StructField[] {columns.fields()[i]}).json();
    }
    this.meaning = settings;
    this.percent = percent;
  }

  /** Whether columns of these types are kept. */
  public static boolean keeps(StructType columns, int rowIndex) {
    if (!SharedColumnVectors.isKnown()) return false;
    for (int i = 0; i < columns.length(); i++) {
      if (i != rowIndex && !DecodedColumn.copies(columns.fields()[i].dataType())) return false;
    }
    return columns.length() > (rowIndex < 0 ? 0 : 1);
  }

  public Object apply(Object split) {
    PartitionedFile file = (PartitionedFile) split;
    boolean isWhole = file.start() == 0 && file.length() >= file.fileSize();
    // The first row of a later part of a file is not known here.
    if (file.fileSize() > FILE_MAX || !isWhole && rowIndex >= 0) return reader.apply(file);
    String state = state(file);
    if (state == null) return reader.apply(file);
    String place =
        meaning + "\n" + file.urlEncodedPath() + "\n" + file.start() + "\n" + file.length();
    ColumnCache kept = ColumnCache.here(percent);
    ColumnCache.File found = kept.get(place, state, names);
    if (found != null) OptimizerRule.COLUMN_CACHE.count();
    else found = kept(kept, place, state, file);
    return found == null ? reader.apply(file) : new Batches(found, file.partitionValues());
  }

  /** What distinguishes the file that is there now; null: it is not there, or elsewhere. */
  private static String state(PartitionedFile file) {
    if (!"file".equals(file.toPath().toUri().getScheme())) return null;
    try {
      BasicFileAttributes found =
          Files.readAttributes(
              Paths.get(file.toPath().toUri().getPath(), new String[0]),
              BasicFileAttributes.class,
              new LinkOption[0]);
      return found.fileKey() + " " + found.size() + " " + found.lastModifiedTime();
    } catch (IOException absent) {
      return null;
    }
  }

  /** Keeps the columns, if that is worth it; null if not. */
  private ColumnCache.File kept(
      ColumnCache kept, String place, String state, PartitionedFile file) {
    String asked = place + "\n" + Arrays.toString(names);
    if (!kept.wants(asked, ofSomePages)) return null;
    ColumnCache.File read = null;
    TaskContext task = TaskContext.get();
    try {
      read = read(file, state, kept.fileMax());
    } catch (Exception unreadable) {
      // Its reader says why, if it comes to that place.
    } finally {
      kept.tried(asked, read != null || task != null && task.isInterrupted());
    }
    if (task != null) task.killTaskIfInterrupted();
    return read == null ? null : kept.put(place, read);
  }

  /** All columns of all rows; null where they take more than `max` bytes, or cannot be kept. */
  private ColumnCache.File read(PartitionedFile file, String state, long max) throws IOException {
    scala.collection.Iterator batches = (scala.collection.Iterator) whole.apply(file);
    if (rowIndex >= 0) RowIndexCounter.count(batches, rowIndex);
    try {
      DecodedColumn[] read = new DecodedColumn[names.length];
      for (int i = 0; i < read.length; i++) {
        read[i] = new DecodedColumn(columns.fields()[place(i)].dataType());
      }
      List<Integer> counts = new ArrayList<>();
      while (batches.hasNext()) {
        if (TaskContext.get() != null) TaskContext.get().killTaskIfInterrupted();
        Object next = batches.next();
        if (!(next instanceof ColumnarBatch)) return null;
        ColumnarBatch batch = (ColumnarBatch) next;
        long bytes = 0;
        for (int i = 0; i < read.length; i++) {
          ColumnVector from = batch.column(place(i));
          if (!(from instanceof OnHeapColumnVector)) return null;
          read[i].add((OnHeapColumnVector) from, batch.numRows());
          bytes += read[i].bytes();
        }
        if (bytes > max) return null;
        counts.add(Integer.valueOf(batch.numRows()));
      }
      return file(read, counts, state);
    } finally {
      if (batches instanceof Closeable) ((Closeable) batches).close();
    }
  }

  /** Of one of `names` among the columns. */
  private int place(int name) {
    return rowIndex >= 0 && name >= rowIndex ? name + 1 : name;
  }

  private ColumnCache.File file(DecodedColumn[] read, List<Integer> counts, String state) {
    Map<String, DecodedColumn> found = new HashMap<>();
    for (int i = 0; i < read.length; i++) {
      read[i].end();
      found.put(names[i], read[i]);
    }
    int[] rows = new int[counts.size()];
    for (int i = 0; i < rows.length; i++) rows[i] = counts.get(i).intValue();
    return new ColumnCache.File(state, rows, found);
  }

  /** Kept columns with the constants of one reading, and row indexes that it may change. */
  private final class Batches extends scala.collection.AbstractIterator {
    private final ColumnCache.File file;
    private final OnHeapColumnVector[][] kept;
    private final ColumnVector[] values;
    private long row;
    private int next;

    Batches(ColumnCache.File file, InternalRow partitionValues) {
      this.file = file;
      this.kept = new OnHeapColumnVector[columns.length()][];
      for (int i = 0, at = 0; i < kept.length; i++)
        if (i != rowIndex) kept[i] = file.column(names[at++]);
      int most = 0;
      for (int i = 0; i < file.counts.length; i++) most = Math.max(most, file.counts[i]);
      this.values = new ColumnVector[constants.length()];
      for (int i = 0; i < values.length; i++) {
        ConstantColumnVector value =
            new ConstantColumnVector(most, constants.fields()[i].dataType());
        ColumnVectorUtils.populate(value, partitionValues, i);
        values[i] = value;
      }
    }

    public boolean hasNext() {
      return next < file.counts.length;
    }

    public Object next() {
      if (!hasNext()) throw new NoSuchElementException();
      int count = file.counts[next];
      ColumnVector[] batch = new ColumnVector[kept.length + values.length];
      for (int i = 0; i < kept.length; i++)
        batch[i] = i == rowIndex ? indexes(count) : SharedColumnVectors.of(kept[i][next]);
      System.arraycopy(values, 0, batch, kept.length, values.length);
      next++;
      return new ColumnarBatch(batch, count);
    }

    private ColumnVector indexes(int count) {
      OnHeapColumnVector indexes = new OnHeapColumnVector(Math.max(count, 1), LongType$.MODULE$);
      for (int i = 0; i < count; i++) indexes.putLong(i, row++);
      return indexes;
    }
  }
}
