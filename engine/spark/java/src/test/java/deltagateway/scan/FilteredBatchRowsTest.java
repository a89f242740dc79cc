package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType$;
import org.apache.spark.sql.types.DoubleType$;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampType$;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Rows of batches that match conditions, for each kind of column and condition. */
class FilteredBatchRowsTest {
  private static final DataType STRING = StringType$.MODULE$;

  private static Expression column(int position, DataType type) {
    return new BoundReference(position, type, true);
  }

  private static Literal literal(Object value, DataType type) {
    return new Literal(value instanceof String s ? UTF8String.fromString(s) : value, type);
  }

  private static Expression equal(DataType type, Object value) {
    return new EqualTo(column(0, type), literal(value, type));
  }

  private static Expression in(DataType type, Object... values) {
    List<Expression> literals = new ArrayList<>();
    for (Object value : values) literals.add(literal(value, type));
    return new In(column(0, type), ScalaConversions.seq(literals));
  }

  /** Returns a batch of the values and their positions. */
  private static ColumnarBatch batch(DataType type, Object... values) {
    OnHeapColumnVector column = new OnHeapColumnVector(values.length, type);
    OnHeapColumnVector positions = new OnHeapColumnVector(values.length, LongType$.MODULE$);
    for (int i = 0; i < values.length; i++) {
      positions.putLong(i, i);
      if (values[i] == null) column.putNull(i);
      else if (values[i] instanceof String s) column.putByteArray(i, s.getBytes());
      else if (values[i] instanceof Double d) column.putDouble(i, d);
      else if (values[i] instanceof Long l) column.putLong(i, l);
      else column.putInt(i, (Integer) values[i]);
    }
    return new ColumnarBatch(new ColumnVector[] {column, positions}, values.length);
  }

  private static List<Long> matches(List<ColumnarBatch> batches, Expression... conditions) {
    Iterator<InternalRow> rows =
        new FilteredBatchRows(
                conditions, ScalaConversions.seq(List.of(column(1, LongType$.MODULE$))))
            .apply(CollectionConverters.asScala(batches.iterator()));
    List<Long> found = new ArrayList<>();
    while (rows.hasNext()) found.add(rows.next().getLong(0));
    assertThrows(NoSuchElementException.class, rows::next);
    return found;
  }

  static Stream<Arguments> conditions() {
    Object[] numbers = {1, null, 2, 3, 1, 0};
    Object[] longs = {1L, null, 1L << 40, -1L};
    Object[] strings = {"a", null, "", "b", "a", "ä"};
    Object[] doubles = {1.5, null, Double.NaN, -0.0};
    DataType integer = IntegerType$.MODULE$;
    return Stream.of(
        Arguments.of(integer, numbers, equal(integer, 1), List.of(0L, 4L)),
        Arguments.of(integer, numbers, equal(integer, 9), List.of()),
        Arguments.of(integer, numbers, in(integer, 3, 0, 7), List.of(3L, 5L)),
        Arguments.of(integer, numbers, in(integer, 3, null), List.of(3L)),
        Arguments.of(integer, numbers, equal(integer, null), List.of()),
        Arguments.of(
            integer,
            numbers,
            new GreaterThan(column(0, integer), literal(1, integer)),
            List.of(2L, 3L)),
        Arguments.of(
            integer, numbers, new IsNotNull(column(0, integer)), List.of(0L, 2L, 3L, 4L, 5L)),
        Arguments.of(
            integer,
            numbers,
            new EqualTo(literal(1, integer), column(0, integer)),
            List.of(0L, 4L)),
        Arguments.of(DateType$.MODULE$, numbers, equal(DateType$.MODULE$, 2), List.of(2L)),
        Arguments.of(LongType$.MODULE$, longs, equal(LongType$.MODULE$, 1L << 40), List.of(2L)),
        Arguments.of(
            TimestampType$.MODULE$, longs, in(TimestampType$.MODULE$, -1L, 1L), List.of(0L, 3L)),
        Arguments.of(STRING, strings, equal(STRING, "a"), List.of(0L, 4L)),
        Arguments.of(STRING, strings, equal(STRING, ""), List.of(2L)),
        Arguments.of(STRING, strings, in(STRING, "ä", "b", "c"), List.of(3L, 5L)),
        Arguments.of(STRING, strings, in(STRING, "b", null), List.of(3L)),
        Arguments.of(
            DoubleType$.MODULE$, doubles, equal(DoubleType$.MODULE$, Double.NaN), List.of(2L)),
        Arguments.of(DoubleType$.MODULE$, doubles, equal(DoubleType$.MODULE$, 0.0), List.of(3L)));
  }

  @ParameterizedTest
  @MethodSource("conditions")
  void rowsThatMatchAreReturned(
      DataType type, Object[] values, Expression condition, List<Long> expected) {
    assertEquals(expected, matches(List.of(batch(type, values)), condition));
  }

  @Test
  void stringsOfADictionaryAreComparedByTheirValue() {
    String[] values = new String[40];
    Arrays.setAll(values, i -> "v" + i);
    OnHeapColumnVector column = new OnHeapColumnVector(5, STRING);
    OnHeapColumnVector positions = new OnHeapColumnVector(5, LongType$.MODULE$);
    column.reserveDictionaryIds(5).putInts(0, 5, new int[] {39, 1, 0, 39, 1}, 0);
    column.setDictionary(new Strings(values));
    column.putNull(2);
    for (int i = 0; i < 5; i++) positions.putLong(i, i);
    ColumnarBatch batch = new ColumnarBatch(new ColumnVector[] {column, positions}, 5);
    assertEquals(List.of(0L, 3L), matches(List.of(batch), equal(STRING, "v39")));
    assertEquals(List.of(), matches(List.of(batch), equal(STRING, "v0")));
    assertEquals(List.of(0L, 1L, 3L, 4L), matches(List.of(batch), in(STRING, "v1", "v39")));
  }

  private record Strings(String[] values) implements Dictionary {
    @Override
    public byte[] decodeToBinary(int id) {
      return values[id].getBytes();
    }

    @Override
    public int decodeToInt(int id) {
      throw new AssertionError();
    }

    @Override
    public long decodeToLong(int id) {
      throw new AssertionError();
    }

    @Override
    public float decodeToFloat(int id) {
      throw new AssertionError();
    }

    @Override
    public double decodeToDouble(int id) {
      throw new AssertionError();
    }
  }

  @Test
  void allConditionsHoldInBatchesOfAnySize() {
    DataType integer = IntegerType$.MODULE$;
    List<ColumnarBatch> batches =
        List.of(
            batch(integer, 1),
            batch(integer),
            batch(integer, 2, 2, 1, 1, 1),
            batch(integer, 3, 3),
            batch(integer, 1, 1));
    Expression second =
        new GreaterThan(column(1, LongType$.MODULE$), literal(0L, LongType$.MODULE$));
    assertEquals(List.of(2L, 3L, 4L, 1L), matches(batches, equal(integer, 1), second));
    assertEquals(List.of(0L, 0L, 1L, 2L, 3L, 4L, 0L, 1L, 0L, 1L), matches(batches));
  }
}
