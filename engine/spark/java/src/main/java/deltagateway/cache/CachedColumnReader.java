package deltagateway.cache;

import deltagateway.optimizer.OptimizerRule;
import deltagateway.scan.ErasedIterators;
import deltagateway.scan.SharedColumnVectors;
import deltagateway.scan.rowids.RowIndexCounter;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
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
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Reads files with cached columns ({@link ColumnCache}) from memory. It returns batches like those
 * of Spark's own reader, with all rows of a file; the filters above the scan drop rows.
 *
 * <p>Columns are decoded completely before the first batch, since a query with a LIMIT does not
 * read to their end. A file that cannot be decoded is read without the cache, and that reader
 * reports its errors.
 *
 * <p>Only local files are cached: to request the state of a remote file takes as long as reading
 * it.
 */
public final class CachedColumnReader
    implements Function1<PartitionedFile, Iterator<InternalRow>>, Serializable {
  private static final long serialVersionUID = 1;

  /** Larger files take too long to decode at once. */
  private static final long FILE_BYTES_MAX = 128L << 20;

  private final Function1<PartitionedFile, Iterator<InternalRow>> reader;
  private final Function1<PartitionedFile, Iterator<InternalRow>> unfiltered;
  private final StructType columns;
  private final StructType constants;
  private final int rowIndex;
  private final String[] names;
  private final String settings;
  private final int percent;

  /**
   * `reader` and `unfiltered` are Spark's, with and without pushed filters; without filters, they
   * are the same object. `columns` are physical; `rowIndex` is the position of the row indexes in
   * them, or -1. `settings` are all that decoded values depend on, besides the columns.
   */
  public CachedColumnReader(
      Function1<PartitionedFile, Iterator<InternalRow>> reader,
      Function1<PartitionedFile, Iterator<InternalRow>> unfiltered,
      StructType columns,
      StructType constants,
      int rowIndex,
      String settings,
      int percent) {
    this.reader = reader;
    this.unfiltered = unfiltered;
    this.columns = columns;
    this.constants = constants;
    this.rowIndex = rowIndex;
    this.names =
        IntStream.range(0, columns.length())
            .filter(i -> i != rowIndex)
            .mapToObj(i -> new StructType(new StructField[] {columns.fields()[i]}).json())
            .toArray(String[]::new);
    this.settings = settings;
    this.percent = percent;
  }

  /** Returns whether columns of these types can be cached. */
  public static boolean supports(StructType columns, int rowIndex) {
    return SharedColumnVectors.isKnown()
        && columns.length() > (rowIndex < 0 ? 0 : 1)
        && IntStream.range(0, columns.length())
            .allMatch(i -> i == rowIndex || DecodedColumn.supports(columns.fields()[i].dataType()));
  }

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    boolean isWhole = file.start() == 0 && file.length() >= file.fileSize();
    // The row index of the first row of a later split is unknown here.
    if (file.fileSize() > FILE_BYTES_MAX || !isWhole && rowIndex >= 0) return reader.apply(file);
    String state = state(file);
    if (state == null) return reader.apply(file);
    String split =
        String.join("\n", settings, file.urlEncodedPath(), file.start() + "", file.length() + "");
    ColumnCache cache = ColumnCache.here(percent);
    ColumnCache.File found = cache.get(split, state, names);
    if (found != null) OptimizerRule.COLUMN_CACHE.count();
    else found = decoded(cache, split, state, file);
    return found == null
        ? reader.apply(file)
        : ErasedIterators.as(new Batches(found, file.partitionValues()));
  }

  /** Returns what identifies the content of a local file; null for others and missing files. */
  private static String state(PartitionedFile file) {
    if (!"file".equals(file.toPath().toUri().getScheme())) return null;
    try {
      BasicFileAttributes found =
          Files.readAttributes(Path.of(file.toPath().toUri().getPath()), BasicFileAttributes.class);
      return found.fileKey() + " " + found.size() + " " + found.lastModifiedTime();
    } catch (IOException missing) {
      return null;
    }
  }

  /** Decodes and caches the columns if the cache accepts them; otherwise returns null. */
  private ColumnCache.File decoded(
      ColumnCache cache, String split, String state, PartitionedFile file) {
    String request = split + "\n" + Arrays.toString(names);
    boolean isFiltered = reader != unfiltered;
    if (!cache.accepts(request, isFiltered)) return null;
    ColumnCache.File decoded = null;
    TaskContext task = TaskContext.get();
    try {
      decoded = decode(file, state, cache.fileBytesMax());
    } catch (Exception unreadable) {
      // The reader without the cache reports it, if it reads that part of the file.
    } finally {
      cache.end(request, decoded != null || task != null && task.isInterrupted());
    }
    if (task != null) task.killTaskIfInterrupted();
    return decoded == null ? null : cache.put(split, decoded);
  }

  /** Returns null if the columns take more than `max` bytes or are not in vectors of the heap. */
  private ColumnCache.File decode(PartitionedFile file, String state, long max) throws IOException {
    Iterator<?> batches = unfiltered.apply(file);
    if (rowIndex >= 0) RowIndexCounter.count(batches, rowIndex);
    try {
      DecodedColumn[] decoded = new DecodedColumn[names.length];
      for (int i = 0; i < decoded.length; i++)
        decoded[i] = new DecodedColumn(columns.fields()[position(i)].dataType());
      List<Integer> counts = new ArrayList<>();
      while (batches.hasNext()) {
        if (TaskContext.get() != null) TaskContext.get().killTaskIfInterrupted();
        if (!(batches.next() instanceof ColumnarBatch batch)) return null;
        long bytes = 0;
        for (int i = 0; i < decoded.length; i++) {
          if (!(batch.column(position(i)) instanceof OnHeapColumnVector vector)) return null;
          decoded[i].add(vector, batch.numRows());
          bytes += decoded[i].bytes();
        }
        if (bytes > max) return null;
        counts.add(batch.numRows());
      }
      Map<String, DecodedColumn> byName = new HashMap<>();
      for (int i = 0; i < decoded.length; i++) {
        decoded[i].end();
        byName.put(names[i], decoded[i]);
      }
      return new ColumnCache.File(
          state, counts.stream().mapToInt(Integer::intValue).toArray(), byName);
    } finally {
      if (batches instanceof Closeable closeable) closeable.close();
    }
  }

  /** Returns the position of one of `names` in the columns. */
  private int position(int name) {
    return rowIndex >= 0 && name >= rowIndex ? name + 1 : name;
  }

  /**
   * Batches of cached columns, with constants, and row indexes that their reader may change. As
   * with Spark's own reader, the vectors of a batch are those of the next one.
   */
  private final class Batches extends AbstractIterator<ColumnarBatch> {
    private final ColumnCache.File file;
    private final OnHeapColumnVector[][] cached;
    private final OnHeapColumnVector[] vectors;
    private final ColumnVector[] values;
    private long row;
    private int next;

    Batches(ColumnCache.File file, InternalRow partitionValues) {
      this.file = file;
      this.cached = new OnHeapColumnVector[columns.length()][];
      this.vectors = new OnHeapColumnVector[cached.length];
      for (int i = 0; i < names.length; i++) cached[position(i)] = file.column(names[i]);
      int rowsMax = Arrays.stream(file.counts).max().orElse(0);
      this.values = new ColumnVector[constants.length()];
      for (int i = 0; i < values.length; i++) {
        ConstantColumnVector value =
            new ConstantColumnVector(rowsMax, constants.fields()[i].dataType());
        ColumnVectorUtils.populate(value, partitionValues, i);
        values[i] = value;
      }
    }

    @Override
    public boolean hasNext() {
      return next < file.counts.length;
    }

    @Override
    public ColumnarBatch next() {
      if (!hasNext()) throw new NoSuchElementException();
      int count = file.counts[next];
      ColumnVector[] batch = new ColumnVector[cached.length + values.length];
      for (int i = 0; i < cached.length; i++)
        batch[i] = i == rowIndex ? rowIndexes(count) : vector(i);
      System.arraycopy(values, 0, batch, cached.length, values.length);
      next++;
      return new ColumnarBatch(batch, count);
    }

    private ColumnVector vector(int column) {
      OnHeapColumnVector from = cached[column][next];
      vectors[column] =
          vectors[column] == null
              ? SharedColumnVectors.of(from)
              : SharedColumnVectors.of(from, vectors[column]);
      return vectors[column];
    }

    private ColumnVector rowIndexes(int count) {
      OnHeapColumnVector indexes = new OnHeapColumnVector(Math.max(count, 1), LongType$.MODULE$);
      for (int i = 0; i < count; i++) indexes.putLong(i, row++);
      return indexes;
    }
  }
}
