package deltagateway.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.ErasedIterators;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Function1;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Batches of files from Spark's reader and from the cache. */
class CachedColumnReaderTest {
  private static final int PERCENT = 5;

  @TempDir Path folder;
  private int reads;
  private RuntimeException fault;

  @BeforeEach
  void clear() {
    ColumnCache.here(PERCENT);
    ColumnCache.clearHere();
  }

  /** Reads two batches of the numbers 0 to 4 and, in a second column, row indexes. */
  private Iterator<InternalRow> read(PartitionedFile file) {
    reads++;
    if (fault != null) throw fault;
    List<ColumnarBatch> batches = new ArrayList<>();
    long next = 0;
    for (int count : new int[] {3, 2}) {
      OnHeapColumnVector values = new OnHeapColumnVector(3, LongType$.MODULE$);
      OnHeapColumnVector indexes = new OnHeapColumnVector(3, LongType$.MODULE$);
      for (int row = 0; row < count; row++, next++) {
        values.putLong(row, 10 * next);
        indexes.putLong(row, next);
      }
      batches.add(new ColumnarBatch(new ColumnVector[] {values, indexes}, count));
    }
    return ErasedIterators.as(CollectionConverters.asScala(batches.iterator()));
  }

  private PartitionedFile file(String name, long start, long length) throws IOException {
    Path path = Files.writeString(folder.resolve(name), "0123456789");
    return new PartitionedFile(
        new GenericInternalRow(new Object[] {7L}),
        SparkPath.fromUrlString(path.toUri().toString()),
        start,
        length,
        new String[0],
        0,
        10,
        ScalaConversions.emptyMap());
  }

  private CachedColumnReader reader() {
    Function1<PartitionedFile, Iterator<InternalRow>> reader = this::read;
    return new CachedColumnReader(
        reader,
        reader,
        StructType.fromDDL("v BIGINT, i BIGINT"),
        StructType.fromDDL("p BIGINT"),
        1,
        "settings",
        PERCENT);
  }

  private static List<String> rows(Iterator<?> batches) {
    List<String> rows = new ArrayList<>();
    while (batches.hasNext()) {
      ColumnarBatch batch = (ColumnarBatch) batches.next();
      for (int row = 0; row < batch.numRows(); row++) {
        StringBuilder text = new StringBuilder();
        for (int column = 0; column < batch.numCols(); column++)
          text.append(batch.column(column).getLong(row)).append(' ');
        rows.add(text.toString().trim());
      }
    }
    assertThrows(NoSuchElementException.class, batches::next);
    return rows;
  }

  @Test
  void secondReadDecodesAndLaterReadsUseTheCache() throws IOException {
    PartitionedFile file = file("f", 0, 10);
    CachedColumnReader reader = reader();
    List<String> cached = List.of("0 0 7", "10 1 7", "20 2 7", "30 3 7", "40 4 7");
    assertEquals(5, rows(reader.apply(file)).size());
    assertEquals(1, reads);
    assertEquals(cached, rows(reader.apply(file)));
    assertEquals(2, reads);
    assertEquals(cached, rows(reader.apply(file)));
    assertEquals(2, reads);
  }

  @Test
  void changedFileIsReadAgain() throws IOException {
    PartitionedFile file = file("f", 0, 10);
    CachedColumnReader reader = reader();
    for (int i = 0; i < 3; i++) rows(reader.apply(file));
    assertEquals(2, reads);
    Files.writeString(folder.resolve("f"), "changed");
    rows(reader.apply(file));
    assertEquals(3, reads);
  }

  @Test
  void laterSplitWithRowIndexesIsNotCached() throws IOException {
    CachedColumnReader reader = reader();
    for (int i = 0; i < 4; i++) rows(reader.apply(file("f", 5, 5)));
    assertEquals(4, reads);
  }

  @Test
  void missingAndRemoteFilesAreNotCached() throws IOException {
    PartitionedFile file = file("f", 0, 10);
    Files.delete(folder.resolve("f"));
    CachedColumnReader reader = reader();
    for (int i = 0; i < 4; i++) rows(reader.apply(file));
    assertEquals(4, reads);
  }

  @Test
  void faultIsRaisedByTheReaderWithoutTheCache() throws IOException {
    PartitionedFile file = file("f", 0, 10);
    CachedColumnReader reader = reader();
    rows(reader.apply(file));
    fault = new IllegalStateException("corrupt");
    assertThrows(IllegalStateException.class, () -> reader.apply(file));
    assertEquals(3, reads); // decoding has failed, and then reading
    fault = null;
    rows(reader.apply(file));
    assertEquals(4, reads); // the cache does not try again
  }
}
