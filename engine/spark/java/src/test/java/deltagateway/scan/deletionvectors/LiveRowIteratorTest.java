package deltagateway.scan.deletionvectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.scan.TableRoot;
import deltagateway.scan.deletionvectors.LiveRowIterator.Use;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.jdk.javaapi.CollectionConverters;

/** Live rows in batches and single rows, by a vector of the rows 3, 4, 7, 11, 18 and 29. */
class LiveRowIteratorTest {
  /** The inline vector of the protocol's example. */
  private static final String VECTOR =
      "i 0 40 6 wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";

  private static DeletionVector vector() {
    return DeletionVector.read(
        VECTOR, new TableRoot("/t", new String[0], new String[0], true), new Configuration());
  }

  private static LiveRowIterator iterator(Use use, Object... rows) {
    return new LiveRowIterator(
        CollectionConverters.asScala(Arrays.asList(rows).iterator()), 0, vector(), use);
  }

  private static ColumnarBatch batch(String rows) {
    long[] indexes = numbers(rows);
    OnHeapColumnVector column =
        new OnHeapColumnVector(Math.max(indexes.length, 1), LongType$.MODULE$);
    column.putLongs(0, indexes.length, indexes, 0);
    return new ColumnarBatch(new ColumnVector[] {column}, indexes.length);
  }

  private static long[] numbers(String rows) {
    return rows.isEmpty()
        ? new long[0]
        : Arrays.stream(rows.split(" ")).mapToLong(Long::parseLong).toArray();
  }

  /** The row indexes: `-` of a deleted row, in parentheses of a flagged one. */
  private static String text(long index) {
    if (index == LiveRowIterator.DEAD) return "-";
    return index < 0 ? "(" + (index & ~LiveRowIterator.OTHER) + ")" : Long.toString(index);
  }

  private static String marked(Use use, String... batches) {
    Object[] rows = Arrays.stream(batches).map(LiveRowIteratorTest::batch).toArray();
    List<String> found = new ArrayList<>();
    for (LiveRowIterator all = iterator(use, rows); all.hasNext(); ) {
      ColumnarBatch batch = (ColumnarBatch) all.next();
      List<String> indexes = new ArrayList<>();
      for (int i = 0; i < batch.numRows(); i++) indexes.add(text(batch.column(0).getLong(i)));
      found.add(String.join(" ", indexes));
    }
    return String.join("|", found);
  }

  @ParameterizedTest
  @CsvSource({
    "DROPS, '0 1 2 3 4 5', '0 1 2 - - 5'",
    "DROPS, '3', '-'",
    "DROPS, '29', '-'",
    "DROPS, '30 31', '30 31'",
    "DROPS, '0 2 4 6 7 11 12', '0 2 - 6 - - 12'",
    "DROPS, '5 6 8 9', '5 6 8 9'",
    "DROPS, '', ''",
    "SELECTS, '2 3 4 5', '- 3 4 -'",
    "SELECTS, '30', '-'",
    "SELECTS, '', ''",
    "FLAGS, '2 3 4 5', '(2) 3 4 (5)'",
  })
  void rowsOfABatchAreMarked(Use use, String rows, String expected) {
    assertEquals(expected, marked(use, rows));
  }

  @ParameterizedTest
  @CsvSource({
    "DROPS, '0 1 2 -|- 5 6 -|8 9'",
    "SELECTS, '- - - 3|4 - - 7|- -'",
    "FLAGS, '(0) (1) (2) 3|4 (5) (6) 7|(8) (9)'",
  })
  void vectorContinuesInTheNextBatch(Use use, String expected) {
    assertEquals(expected, marked(use, "0 1 2 3", "4 5 6 7", "8 9"));
  }

  @ParameterizedTest
  @CsvSource({"DROPS, '5 6 -|0 1 2 -'", "SELECTS, '- - 7|- - - 3'"})
  void anotherPartOfTheFileMayComeFirst(Use use, String expected) {
    // A vector is looked up from the row of each batch, so an earlier part is found as well.
    String[] parts = expected.split("\\|");
    assertEquals(parts[0], marked(use, "5 6 7"));
    assertEquals(parts[1], marked(use, "0 1 2 3"));
  }

  @ParameterizedTest
  @CsvSource({
    "DROPS, '0 5 8'",
    "SELECTS, '3 4 7'",
    "FLAGS, '(0) 3 4 (5) 7 (8)'",
  })
  void singleRowsAreLeftOut(Use use, String expected) {
    Object[] rows =
        Arrays.stream(numbers("0 3 4 5 7 8"))
            .mapToObj(index -> new GenericInternalRow(new Object[] {index}))
            .toArray();
    List<String> found = new ArrayList<>();
    for (LiveRowIterator all = iterator(use, rows); all.hasNext(); )
      found.add(text(((InternalRow) all.next()).getLong(0)));
    assertEquals(expected, String.join(" ", found));
  }

  @Test
  void flaggedRowIsACopy() {
    GenericInternalRow row = new GenericInternalRow(new Object[] {0L});
    iterator(Use.FLAGS, row).next();
    assertEquals(0, row.getLong(0));
  }

  @Test
  void endOfRowsIsReported() {
    LiveRowIterator rows = iterator(Use.DROPS, new GenericInternalRow(new Object[] {3L}));
    assertFalse(rows.hasNext());
    assertThrows(NoSuchElementException.class, rows::next);
  }
}
