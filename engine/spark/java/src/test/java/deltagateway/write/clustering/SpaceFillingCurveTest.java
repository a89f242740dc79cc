package deltagateway.write.clustering;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Positions of rows on the Z-order curve and Hilbert's. */
class SpaceFillingCurveTest {
  private static final int COUNTER_BITS = 16;
  private static final StructType TWO = StructType.fromDDL("x INT, y INT");

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  /** All pairs of null, 0, 1, 2, whose coordinates are 0, 4, 8 and 12. */
  private static InternalRow[] grid() {
    List<InternalRow> rows = new ArrayList<>();
    for (Integer x : new Integer[] {null, 0, 1, 2})
      for (Integer y : new Integer[] {null, 0, 1, 2}) rows.add(row(x, y));
    return rows.toArray(new InternalRow[0]);
  }

  private static List<int[]> path(boolean isHilbert) {
    SpaceFillingCurve curve = new SpaceFillingCurve(TWO, grid(), isHilbert, 1);
    List<long[]> found = new ArrayList<>();
    for (InternalRow row : grid()) {
      long x = row.isNullAt(0) ? 0 : row.getInt(0) + 1;
      long y = row.isNullAt(1) ? 0 : row.getInt(1) + 1;
      found.add(new long[] {curve.place(row) >>> COUNTER_BITS, x, y});
    }
    found.sort(Comparator.comparingLong(entry -> entry[0]));
    return found.stream().map(entry -> new int[] {(int) entry[1], (int) entry[2]}).toList();
  }

  @Test
  void zOrderInterleavesTheBitsOfTheColumns() {
    List<String> cells = path(false).stream().map(Arrays::toString).toList();
    assertEquals(
        List.of(
            "[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]", "[0, 2]", "[0, 3]", "[1, 2]", "[1, 3]",
            "[2, 0]", "[2, 1]", "[3, 0]", "[3, 1]", "[2, 2]", "[2, 3]", "[3, 2]", "[3, 3]"),
        cells);
  }

  @Test
  void hilbertCurveHasNoJumps() {
    List<int[]> cells = path(true);
    assertEquals(16, cells.stream().map(Arrays::toString).distinct().count());
    for (int i = 1; i < cells.size(); i++) {
      int distance =
          Math.abs(cells.get(i)[0] - cells.get(i - 1)[0])
              + Math.abs(cells.get(i)[1] - cells.get(i - 1)[1]);
      assertEquals(1, distance, "step " + i);
    }
  }

  static Object[] values(String type) {
    return switch (type) {
      case "INT", "DATE" -> new Object[] {Integer.MIN_VALUE, -1, 0, 7, Integer.MAX_VALUE};
      case "BIGINT", "TIMESTAMP" -> new Object[] {Long.MIN_VALUE, -1L, 0L, 7L, Long.MAX_VALUE};
      case "SMALLINT" -> new Object[] {(short) -5, (short) 0, (short) 9};
      case "DOUBLE" -> new Object[] {Double.NEGATIVE_INFINITY, -1.5, 0.0, 1e300, Double.NaN};
      case "FLOAT" -> new Object[] {-1.5f, 0f, 2.5f, Float.NaN};
      case "STRING" ->
          new Object[] {
            UTF8String.fromString(""),
            UTF8String.fromString("a"),
            UTF8String.fromString("b"),
            UTF8String.fromString("ä")
          };
      default ->
          new Object[] {Decimal.apply("-1.50"), Decimal.apply("0.00"), Decimal.apply("99.25")};
    };
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "INT",
        "DATE",
        "BIGINT",
        "TIMESTAMP",
        "SMALLINT",
        "DOUBLE",
        "FLOAT",
        "STRING",
        "DECIMAL(5,2)"
      })
  void oneColumnHasTheOrderOfItsValues(String type) {
    Object[] values = values(type);
    List<InternalRow> sample = new ArrayList<>(List.of(row((Object) null)));
    for (Object value : values) sample.add(row(value));
    SpaceFillingCurve curve =
        new SpaceFillingCurve(
            StructType.fromDDL("x " + type), sample.toArray(new InternalRow[0]), true, 1);
    long before = curve.place(row((Object) null)) >>> COUNTER_BITS;
    assertEquals(0, before);
    for (Object value : values) {
      long position = curve.place(row(value)) >>> COUNTER_BITS;
      assertTrue(position > before, type + " " + value);
      before = position;
    }
  }

  @Test
  void rowsOfOneValueAreSpreadAndRepeatable() {
    InternalRow[] sample = {row(1, 1)};
    SpaceFillingCurve curve = new SpaceFillingCurve(TWO, sample, false, 4);
    SpaceFillingCurve again = new SpaceFillingCurve(TWO, sample, false, 4);
    long first = curve.place(row(1, 1));
    long second = curve.place(row(1, 1));
    assertNotEquals(first, second);
    assertEquals(first >>> COUNTER_BITS, second >>> COUNTER_BITS);
    assertEquals(first, again.place(row(1, 1)));
    assertEquals(second, again.place(row(1, 1)));
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "4, 4", "16, 16", "100, 16"})
  void rowsAreDividedIntoFilesOfEqualNumbers(int numFiles, int expected) {
    InternalRow[] sample = grid();
    SpaceFillingCurve curve = new SpaceFillingCurve(TWO, sample, true, numFiles);
    SpaceFillingCurve task = new SpaceFillingCurve(TWO, sample, true, numFiles);
    int[] counts = new int[numFiles];
    for (InternalRow row : sample) counts[curve.file(task.place(row))]++;
    assertEquals(expected, Arrays.stream(counts).filter(count -> count > 0).count());
    assertEquals(16 / expected, Arrays.stream(counts).max().orElse(0));
  }

  @Test
  void curveWithoutASampleHasOnePosition() {
    SpaceFillingCurve curve = new SpaceFillingCurve(TWO, new InternalRow[0], true, 8);
    assertEquals(0, curve.file(curve.place(row(5, 5))));
    assertEquals(curve.place(row(1, 2)) >>> COUNTER_BITS, curve.place(row(7, 9)) >>> COUNTER_BITS);
  }

  @Test
  void positionIsNotDeterministicAndItsFileIs() {
    SpaceFillingCurve curve = new SpaceFillingCurve(TWO, grid(), true, 2);
    var position = curve.of(List.of(Literal$.MODULE$.apply(1), Literal$.MODULE$.apply(2)));
    assertFalse(position.deterministic());
    assertTrue(curve.fileOf(Literal$.MODULE$.apply(1L)).deterministic());
    assertNotEquals(curve, new SpaceFillingCurve(TWO, grid(), true, 2));
    assertEquals("SpaceFillingCurve", curve.toString());
  }
}
