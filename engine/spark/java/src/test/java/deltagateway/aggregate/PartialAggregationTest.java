package deltagateway.aggregate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.session.StatementQueryExecution;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.SparkArithmeticException;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.execution.vectorized.Dictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.jdk.javaapi.CollectionConverters;

/** Compares with what Spark's own operators make of the same rows. */
@Tag("spark")
class PartialAggregationTest {
  private static final StructType SCHEMA =
      StructType.fromDDL(
          "b BOOLEAN, y TINYINT, h SMALLINT, i INT, l BIGINT, d DATE, t TIMESTAMP,"
              + " small DECIMAL(7,2), wide DECIMAL(15,2), x DOUBLE, f FLOAT, s STRING, u STRING");
  private static final int BATCHES = 5;
  private static final int ROWS = 200;

  private static final List<Object[]> DATA = new ArrayList<>();

  @BeforeAll
  static void makeRows() {
    Random random = new Random(7);
    for (int row = 0; row < BATCHES * ROWS; row++) {
      boolean hasNulls = row / ROWS != 1; // the second batch has none
      Object[] values = {
        random.nextBoolean(),
        (byte) random.nextInt(5),
        (short) (random.nextInt(7) - 3),
        random.nextInt(9) - 4,
        random.nextLong() >> 20,
        LocalDate.of(2024, 1, 1 + random.nextInt(20)),
        Instant.ofEpochSecond(random.nextInt(5)),
        BigDecimal.valueOf(random.nextInt(2000) - 1000, 2),
        BigDecimal.valueOf(random.nextInt(2000) - 1000, 2),
        random.nextInt(10) == 0 ? Double.NaN : random.nextInt(100) / 8.0 - 3,
        random.nextInt(100) / 8f,
        "s" + random.nextInt(6),
        "u" + random.nextInt(150),
      };
      for (int i = 0; i < values.length; i++) {
        if (hasNulls && random.nextInt(8) == 0) values[i] = null;
      }
      DATA.add(values);
    }
    name("batches", DATA);
  }

  /** Names rows for SQL texts, as a relation that Spark's optimizer does not look into. */
  private static void name(String view, List<Object[]> data) {
    List<Row> rows = data.stream().map(RowFactory::create).toList();
    JavaSparkContext context = new JavaSparkContext(TestSpark.SPARK.sparkContext());
    TestSpark.SPARK
        .createDataFrame(context.parallelize(rows, 1), SCHEMA)
        .createOrReplaceTempView(view);
  }

  private static List<ColumnarBatch> batches(List<Object[]> data) {
    List<ColumnarBatch> batches = new ArrayList<>();
    for (int from = 0; from < data.size(); from += ROWS) {
      List<Object[]> rows = data.subList(from, Math.min(data.size(), from + ROWS));
      ColumnVector[] columns = new ColumnVector[SCHEMA.length()];
      for (int i = 0; i < columns.length; i++) columns[i] = vector(rows, i);
      batches.add(new ColumnarBatch(columns, rows.size()));
    }
    return batches;
  }

  private static ColumnVector vector(List<Object[]> rows, int column) {
    String name = SCHEMA.fields()[column].name();
    OnHeapColumnVector vector =
        new OnHeapColumnVector(rows.size(), SCHEMA.fields()[column].dataType());
    WritableColumnVector ids = name.equals("s") ? vector.reserveDictionaryIds(rows.size()) : null;
    if (ids != null) vector.setDictionary(new Words());
    for (int row = 0; row < rows.size(); row++) {
      Object value = rows.get(row)[column];
      if (value == null) {
        vector.putNull(row);
      } else if (ids != null) {
        ids.putInt(row, value.toString().charAt(1) - '0');
      } else {
        put(vector, row, value, SCHEMA.fields()[column].dataType());
      }
    }
    return vector;
  }

  private static void put(OnHeapColumnVector vector, int row, Object value, DataType type) {
    if (value instanceof Boolean truth) vector.putBoolean(row, truth);
    else if (value instanceof Byte number) vector.putByte(row, number);
    else if (value instanceof Short number) vector.putShort(row, number);
    else if (value instanceof Integer number) vector.putInt(row, number);
    else if (value instanceof Long number) vector.putLong(row, number);
    else if (value instanceof Double number) vector.putDouble(row, number);
    else if (value instanceof Float number) vector.putFloat(row, number);
    else if (value instanceof LocalDate date) vector.putInt(row, (int) date.toEpochDay());
    else if (value instanceof Instant time) vector.putLong(row, time.getEpochSecond() * 1_000_000);
    else if (value instanceof BigDecimal number) {
      long unscaled = number.unscaledValue().longValueExact();
      if (type.equals(SCHEMA.apply("small").dataType())) vector.putInt(row, (int) unscaled);
      else vector.putLong(row, unscaled);
    } else vector.putByteArray(row, value.toString().getBytes());
  }

  /** The texts of the column s by their ids. */
  private static final class Words implements Dictionary {
    @Override
    public byte[] decodeToBinary(int id) {
      return ("s" + id).getBytes();
    }

    @Override
    public int decodeToInt(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long decodeToLong(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public float decodeToFloat(int id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public double decodeToDouble(int id) {
      throw new UnsupportedOperationException();
    }
  }

  /** A query's operators: Spark's partial aggregation, and what is below it. */
  private record Planned(
      HashAggregateExec aggregate,
      scala.Option<Expression> condition,
      scala.collection.immutable.Seq<NamedExpression> projection,
      SparkPlan rows) {
    static Planned of(String query) {
      SparkPlan plan =
          new StatementQueryExecution(TestSpark.SPARK, TestSpark.parsed(query)).sparkPlan();
      HashAggregateExec aggregate = null;
      while (!plan.children().isEmpty()) {
        if (plan instanceof HashAggregateExec found) aggregate = found;
        plan = plan.children().head();
      }
      scala.Option<Expression> condition = ScalaConversions.none();
      scala.collection.immutable.Seq<NamedExpression> projection = ScalaConversions.seq(List.of());
      SparkPlan below = aggregate.child();
      if (below instanceof ProjectExec project) {
        projection = project.projectList();
        below = project.child();
      }
      if (below instanceof FilterExec filter) {
        condition = scala.Option.apply(filter.condition());
        below = filter.child();
      }
      assertEquals(plan, below);
      return new Planned(aggregate, condition, projection, plan);
    }

    PartialAggregation task() {
      return new VectorizedAggregateExec(aggregate, condition, projection, rows).task();
    }

    /** Returns the rows that Spark makes, as texts in order. */
    List<String> expected() {
      List<Attribute> output = ScalaConversions.list(aggregate.output());
      List<String> found = new ArrayList<>();
      for (InternalRow row : aggregate.executeCollect()) found.add(text(row, output));
      Collections.sort(found);
      return found;
    }

    List<InternalRow> actual(List<Object[]> data) {
      scala.collection.Iterator<ColumnarBatch> batches =
          CollectionConverters.asScala(batches(data).iterator());
      List<InternalRow> found = new ArrayList<>();
      scala.collection.Iterator<InternalRow> rows = task().apply(batches);
      while (rows.hasNext()) found.add(rows.next().copy());
      return found;
    }
  }

  private static String text(InternalRow row, List<Attribute> columns) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) values.add(row.get(i, columns.get(i).dataType()));
    return values.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "i = 2",
        "i <> 2",
        "3 > i",
        "i >= -1 AND i < 3",
        "i = 1 OR s = 's2' AND y > 2",
        "NOT (i > 0)",
        "h IN (1, -2, 3)",
        "NOT h IN (1, -2, 3)",
        "l > 0 AND l + 1 > l - y",
        "d = DATE'2024-01-05'",
        "d BETWEEN DATE'2024-01-05' AND DATE'2024-01-09'",
        "t <= TIMESTAMP'1970-01-01 00:00:02Z'",
        "small > 1.25",
        "wide <= -2.50",
        "b = true",
        "NOT b AND i > 0",
        "s = 's3'",
        "s <> 's3'",
        "s IN ('s1', 's4', 'other')",
        "s LIKE 's_' AND s NOT LIKE '%4'",
        "u LIKE 'u1%' OR u = 'u77'",
        "s IS NOT NULL AND i IS NOT NULL",
        "i = 1 AND y = 1 AND h = 1 AND b",
      })
  void conditionSelectsTheRowsForWhichItIsTrue(String condition) {
    Planned planned = Planned.of("SELECT count(*) FROM batches WHERE " + condition);
    BatchColumns columns = new BatchColumns(planned.rows().output());
    BatchCondition selected = BatchCondition.of(planned.condition().get(), columns);
    assertNotNull(selected, planned.condition().get()::toString);
    BasePredicate predicate = Predicate.createInterpreted(columns.bind(planned.condition().get()));
    for (ColumnarBatch batch : batches(DATA)) {
      int[] expected =
          IntStream.range(0, batch.numRows())
              .filter(row -> predicate.eval(batch.getRow(row)))
              .toArray();
      int[] rows = IntStream.range(0, batch.numRows()).toArray();
      int count = selected.select(batch, rows, rows.length);
      assertArrayEquals(expected, java.util.Arrays.copyOf(rows, count));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "x > 1",
        "length(s) > 1",
        "s > 's2'",
        "i <=> 1",
        "s = u",
        "i IS NULL",
        "y % 2 = 0",
        "wide = small"
      })
  void otherConditionsAreLeftToSpark(String condition) {
    assertNull(Planned.of("SELECT count(*) FROM batches WHERE " + condition).task());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT count(*) FROM batches",
        "SELECT count(i), sum(i), min(i), max(i), avg(i) FROM batches",
        "SELECT s, count(*), sum(y), sum(l) FROM batches GROUP BY s",
        "SELECT u, avg(h), min(d), max(t) FROM batches GROUP BY u",
        "SELECT b, sum(x), avg(x), min(x), max(x) FROM batches GROUP BY b",
        "SELECT i, sum(f), avg(f) FROM batches GROUP BY i",
        "SELECT small, wide, count(*) FROM batches GROUP BY small, wide",
        "SELECT s, i, d, b, min(small), max(wide) FROM batches WHERE i > 0 GROUP BY s, i, d, b",
        "SELECT DISTINCT u FROM batches WHERE y > 1",
        "SELECT y, h, t FROM batches GROUP BY y, h, t",
        "SELECT max(i) FROM batches WHERE i > 1000",
        "SELECT s, max(i) FROM batches WHERE i > 1000 GROUP BY s",
        "SELECT s, sum(l + y), sum(l - y * 2L) FROM batches GROUP BY s",
        "SELECT k, sum(v) FROM (SELECT s AS k, i AS v FROM batches) GROUP BY k",
      })
  void rowsAreThoseOfSparksAggregation(String query) {
    Planned planned = Planned.of(query);
    List<Attribute> output = ScalaConversions.list(planned.aggregate().output());
    List<String> actual =
        new ArrayList<>(planned.actual(DATA).stream().map(row -> text(row, output)).toList());
    Collections.sort(actual);
    assertEquals(planned.expected(), actual);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT x, count(*) FROM batches GROUP BY x",
        "SELECT s, max(u) FROM batches GROUP BY s",
        "SELECT s, count(DISTINCT u), sum(i) FROM batches GROUP BY s",
        "SELECT s, sum(wide) FROM batches GROUP BY s",
        "SELECT s, sum(i) FILTER (WHERE b) FROM batches GROUP BY s",
        "SELECT s, try_sum(l) FROM batches GROUP BY s",
        "SELECT s, stddev(x) FROM batches GROUP BY s",
        "SELECT upper(s), count(*) FROM batches GROUP BY upper(s)",
        "SELECT s, first(i) FROM batches GROUP BY s",
        "SELECT s COLLATE UTF8_LCASE, count(*) FROM batches GROUP BY s COLLATE UTF8_LCASE",
      })
  void otherAggregationsAreLeftToSpark(String query) {
    SparkPlan plan =
        new StatementQueryExecution(TestSpark.SPARK, TestSpark.parsed(query)).sparkPlan();
    SparkPlan prepared = new VectorizedAggregates().postColumnarTransitions().apply(plan);
    assertEquals(plan, prepared);
  }

  @Test
  void manyGroupsGoOutInParts() {
    List<Object[]> data = new ArrayList<>();
    for (int row = 0; row < 700_000; row++) {
      Object[] values = new Object[SCHEMA.length()];
      values[4] = row % 300_000L;
      data.add(values);
    }
    List<InternalRow> rows = Planned.of("SELECT l, count(*) FROM batches GROUP BY l").actual(data);
    long[] expected = new long[300_000];
    for (Object[] values : data) expected[((Long) values[4]).intValue()]++;
    long[] counts = new long[300_000];
    for (InternalRow row : rows) counts[(int) row.getLong(0)] += row.getLong(1);
    assertArrayEquals(expected, counts);
    assertTrue(rows.size() > 300_000);
  }

  @Test
  void sumThatDoesNotFitGoesOutInParts() {
    List<Object[]> data = new ArrayList<>();
    BigInteger total = BigInteger.ZERO;
    for (int row = 0; row < 10; row++) {
      Object[] values = new Object[SCHEMA.length()];
      values[4] = Long.MAX_VALUE - row;
      values[11] = "s1";
      total = total.add(BigInteger.valueOf(Long.MAX_VALUE - row));
      data.add(values);
    }
    BigInteger found = BigInteger.ZERO;
    long rows = 0;
    String query = "SELECT s, count(*), sum(l) FROM batches GROUP BY s";
    for (InternalRow row : Planned.of(query).actual(data)) {
      rows += row.getLong(1);
      found = found.add(BigInteger.valueOf(row.getLong(2)));
    }
    assertEquals(total, found);
    assertEquals(10, rows);
  }

  @Test
  void valueThatDoesNotFitIsSparksError() {
    Object[] values = new Object[SCHEMA.length()];
    values[4] = Long.MAX_VALUE;
    Planned planned = Planned.of("SELECT sum(l + 1L) FROM batches");
    SparkArithmeticException error =
        assertThrows(
            SparkArithmeticException.class,
            () -> planned.actual(Collections.singletonList(values)));
    assertEquals("ARITHMETIC_OVERFLOW", error.getCondition().split("\\.")[0]);
    assertEquals("l + 1L", error.getQueryContext()[0].fragment());
  }

  @Test
  void errorOfTheFilterIsNotThatOfARowThatItHides() {
    List<Object[]> data = new ArrayList<>();
    for (long l : new long[] {-5, Long.MAX_VALUE}) {
      Object[] values = new Object[SCHEMA.length()];
      values[3] = -1;
      values[4] = l;
      data.add(values);
    }
    Planned planned =
        Planned.of("SELECT sum(l - 9223372036854775807L) FROM batches WHERE i > 5 OR l + 1L > 0");
    SparkArithmeticException error =
        assertThrows(SparkArithmeticException.class, () -> planned.actual(data));
    assertEquals("l + 1L", error.getQueryContext()[0].fragment());
  }
}
