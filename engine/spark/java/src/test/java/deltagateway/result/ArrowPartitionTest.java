package deltagateway.result;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ReadChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Arrow messages of partitions, for all types of columns. */
@Tag("spark")
class ArrowPartitionTest {
  @TempDir Path folder;

  private static Iterator<InternalRow> iterator(InternalRow... rows) {
    return CollectionConverters.asScala(Arrays.asList(rows).iterator());
  }

  private ArrowPartition.Part write(StructType schema, InternalRow[] rows, StatementRequest request)
      throws IOException {
    return new ArrowPartition(schema, "UTC", request, folder.toString(), true)
        .write(iterator(rows), null, "part");
  }

  private StatementRequest request(Long rowsWanted, Long bytesWanted) throws Exception {
    return ResultRequests.request(folder, 1L << 40, rowsWanted, bytesWanted);
  }

  private static byte[] bytes(ArrowPartition.Part part) throws IOException {
    return part.bytes() != null ? part.bytes() : Files.readAllBytes(Path.of(part.path()));
  }

  /** Returns the values of the messages as Arrow prints them, a list for each row. */
  private static List<String> values(StructType schema, byte[] messages) throws IOException {
    List<String> found = new ArrayList<>();
    var arrow =
        ArrowUtils$.MODULE$.toArrowSchema(
            schema, "UTC", false, false, ArrowUtils$.MODULE$.toArrowSchema$default$5());
    try (BufferAllocator allocator =
            ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("test", 0, Long.MAX_VALUE);
        VectorSchemaRoot root = VectorSchemaRoot.create(arrow, allocator);
        ReadChannel in = new ReadChannel(Channels.newChannel(new ByteArrayInputStream(messages)))) {
      while (in.bytesRead() < messages.length) {
        try (ArrowRecordBatch batch =
            (ArrowRecordBatch) MessageSerializer.deserializeMessageBatch(in, allocator)) {
          new VectorLoader(root).load(batch);
        }
        for (int row = 0; row < root.getRowCount(); row++) {
          List<String> values = new ArrayList<>();
          for (var vector : root.getFieldVectors()) {
            Object value = vector.getObject(row);
            values.add(
                value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value));
          }
          found.add(String.join(" | ", values));
        }
      }
    }
    return found;
  }

  private List<String> result(String query) throws Exception {
    LogicalPlan plan = TestSpark.analyzed(query);
    InternalRow[] rows =
        Dataset$.MODULE$
            .ofRows(TestSpark.SPARK, plan)
            .queryExecution()
            .executedPlan()
            .executeCollect();
    ArrowPartition.Part part = write(plan.schema(), rows, request(null, null));
    assertEquals(rows.length, part.rows());
    assertEquals(part.bytes().length, part.size());
    ClientValues converter = ClientValues.of(plan.schema(), java.time.ZoneId.of("UTC"));
    StructType wire = converter == null ? plan.schema() : (StructType) converter.type();
    return values(wire, part.bytes());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "true, false | boolean | true, false",
        "1, -128 | tinyint | 1, -128",
        "1, -32768 | smallint | 1, -32768",
        "1, -2147483648 | int | 1, -2147483648",
        "1, -9223372036854775808 | bigint | 1, -9223372036854775808",
        "1.5, 'NaN' | float | 1.5, NaN",
        "1.5, '-Infinity' | double | 1.5, -Infinity",
        "1.5, -0.01 | decimal(5,2) | 1.50, -0.01",
        "123456789012345678, -1 | decimal(18,0) | 123456789012345678, -1",
        "12345678901234567890123456789012345678, -1 | decimal(38,0) |"
            + " 12345678901234567890123456789012345678, -1",
        "1e-10, -99999999999999999999 | decimal(38,10) | 1E-10, -99999999999999999999.0000000000",
        "'', 'aä😀' | string | , aä😀",
        "x'', x'00ff' | binary | [], [0, -1]",
        "'1970-01-02', '0001-01-01' | date | 1, -719162",
        "'1970-01-01 00:00:01', '1969-12-31 23:59:59.5' | timestamp_ntz | 1970-01-01T00:00:01,"
            + " 1969-12-31T23:59:59.500",
        "'1970-01-01 00:00:01Z', '1969-12-31 23:59:59Z' | timestamp | 1000000, -1000000",
        "INTERVAL '1-2' YEAR TO MONTH, INTERVAL '-3' MONTH | interval year to month | 1-2, -0-3",
        "array(1, NULL), array() | array<int> | [1,null], []",
        "array(array(), array(NULL)), array() | array<array<int>> | [[],[null]], []",
        "map('a', 1), map() | map<string,int> | [{\"key\":\"a\",\"value\":1}], []",
        "named_struct('x', NULL, 'y', 'b'), named_struct('x', 1, 'y', NULL) | struct<x: int, y:"
            + " string> | {\"y\":\"b\"}, {\"x\":1}",
      })
  void valuesOfEachTypeAreWritten(String values, String type, String expected) throws Exception {
    StringBuilder query = new StringBuilder("SELECT CAST(c AS " + type + ") AS c FROM VALUES ");
    String first = values.substring(0, split(values));
    String second = values.substring(split(values) + 2);
    if (type.equals("interval year to month")) first = "CAST(" + first + " AS " + type + ")";
    query.append("(CAST(").append(first).append(" AS ").append(type).append(")), (CAST(");
    query.append(second).append(" AS ").append(type).append(")), (NULL) AS v(c)");
    List<String> found = result(query.toString());
    assertEquals(3, found.size());
    assertEquals("null", found.get(2));
    assertEquals(expected, found.get(0) + ", " + found.get(1));
  }

  /** Returns the position of the comma between the two values, outside of parentheses. */
  private static int split(String values) {
    int depth = 0;
    for (int i = 0; i < values.length(); i++) {
      char c = values.charAt(i);
      if (c == '(') depth++;
      if (c == ')') depth--;
      if (c == ',' && depth == 0) return i;
    }
    throw new IllegalArgumentException(values);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "make_interval(0, 14, 0, 1) | 1 years 2 months 1 days",
        "parse_json('{\"a\": [1, null]}') | {\"a\":[1,null]}",
        "array(INTERVAL '1' YEAR, NULL) | [\"1-0\",null]",
        "named_struct('v', parse_json('1'), 'n', 2) | {\"v\":\"1\",\"n\":2}",
        "map('k', parse_json('true')) | [{\"key\":\"k\",\"value\":\"true\"}]",
        "map() | []",
        "named_struct('m', map()) | {\"m\":[]}",
      })
  void valuesThatClientsCannotReadBecomeStrings(String value, String expected) throws Exception {
    assertEquals(List.of(expected), result("SELECT " + value + " AS c FROM range(1)"));
  }

  @Test
  void geospatialTypesAreRejected() {
    StructType schema = StructType.fromDDL("g GEOMETRY(4326)");
    RejectionException rejection =
        assertThrows(
            RejectionException.class, () -> ClientValues.of(schema, java.time.ZoneId.of("UTC")));
    assertEquals("type", rejection.kind());
  }

  @Test
  void emptyPartitionHasNoMessages() throws Exception {
    ArrowPartition.Part part =
        write(StructType.fromDDL("a INT"), new InternalRow[0], request(null, null));
    assertArrayEquals(new byte[0], part.bytes());
    assertEquals(0, part.rows());
    assertEquals(0, part.size());
  }

  private static InternalRow[] longs(int count) {
    InternalRow[] rows = new InternalRow[count];
    for (int i = 0; i < count; i++) rows[i] = new GenericInternalRow(new Object[] {(long) i});
    return rows;
  }

  @ParameterizedTest
  @CsvSource({"5, 5", "1, 1", "0, 0", "100000, 40000", ", 40000"})
  void rowsAfterTheWantedOnesAreNotWritten(Long wanted, long expected) throws Exception {
    StructType schema = StructType.fromDDL("a BIGINT");
    ArrowPartition.Part part = write(schema, longs(40_000), request(wanted, null));
    assertEquals(expected, part.rows());
    assertEquals(8 * expected, part.values());
    assertEquals(expected, values(schema, bytes(part)).size());
  }

  @Test
  void batchesEndAtTheLimits() throws Exception {
    StructType schema = StructType.fromDDL("a BIGINT");
    StatementRequest bytes = ResultRequests.request(folder, 1000, null, null);
    assertEquals(16384, write(schema, longs(40_000), bytes).rows());
    assertEquals(16384, write(schema, longs(40_000), request(null, 100L)).rows());
  }

  /** The result ends with the batch that exceeds the limit by a value. */
  @ParameterizedTest
  @CsvSource({
    "16384, 16384",
    "16385, 32768",
    "32769, 65536",
    "65537, 131072",
    "131073, 196608",
    "196609, 200000"
  })
  void batchesGrow(long rows, long expected) throws Exception {
    StructType schema = StructType.fromDDL("a BIGINT");
    StatementRequest request = request(null, 8 * rows - 1);
    assertEquals(expected, write(schema, longs(200_000), request).rows());
  }

  @Test
  void largePartitionIsWrittenToAFile() throws Exception {
    StructType schema = StructType.fromDDL("a BIGINT");
    ArrowPartition.Part small = write(schema, longs(10), request(null, null));
    assertNull(small.path());
    ArrowPartition.Part large = write(schema, longs(40_000), request(null, null));
    assertNull(large.bytes());
    Path file = Path.of(large.path());
    assertEquals(large.size(), Files.size(file));
    assertEquals("39999", values(schema, Files.readAllBytes(file)).get(39_999));
  }

  @Test
  void failedPartitionLeavesNoFile() throws Exception {
    StructType schema = StructType.fromDDL("a BIGINT");
    InternalRow[] rows = longs(40_000);
    rows[39_999] = new GenericInternalRow(new Object[] {"no number"});
    assertThrows(ClassCastException.class, () -> write(schema, rows, request(null, null)));
    try (var files = Files.list(folder)) {
      assertTrue(files.findAny().isEmpty());
    }
  }

  @Test
  void rowsOfObjectsAreWrittenLikeUnsafeRows() throws Exception {
    StructType schema = StructType.fromDDL("d DECIMAL(5,2), e DECIMAL(38,2), s STRING");
    InternalRow row =
        new GenericInternalRow(
            new Object[] {
              Decimal.apply("1.5"), Decimal.apply("-2.25"), UTF8String.fromString("x")
            });
    InternalRow tooLarge =
        new GenericInternalRow(new Object[] {Decimal.apply("1234.5"), null, null});
    ArrowPartition.Part part =
        write(schema, new InternalRow[] {row, tooLarge}, request(null, null));
    assertEquals(List.of("1.50 | -2.25 | x", "null | null | null"), values(schema, part.bytes()));
    assertEquals(2 * 16 + 2 * 16 + 2 * 4 + 1, part.values());
  }
}
