package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.session.StatementQueryExecution;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values that leave Spark and return. */
@Tag("spark")
class UnsafeRowBytesTest {
  private static Literal roundTrip(String value) {
    QueryExecution query =
        new StatementQueryExecution(TestSpark.SPARK, TestSpark.parsed("SELECT 1, " + value));
    StructType type = query.analyzed().schema();
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    UnsafeRowBytes.put(answer, type, query.executedPlan().executeCollect(), 1 << 20);
    ObjectNode reference = StatementRequest.JSON.createObjectNode();
    reference.put("row_type", answer.get("row_type").textValue()).put("column", 1);
    reference.put("row", answer.get("rows").get(0).textValue());
    return UnsafeRowBytes.literal(reference);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "5",
        "5Y",
        "true",
        "1.50",
        "12345678901234567890.1234567890",
        "double('NaN')",
        "-0.0D",
        "'ä\u0001'",
        "X'00FF'",
        "date'2024-02-29'",
        "timestamp'2024-02-29 12:00:00.000001'",
        "timestamp_ntz'2024-02-29 12:00:00'",
        "INTERVAL '1 02:03:04.5' DAY TO SECOND",
        "INTERVAL '-1-2' YEAR TO MONTH",
        "array(1, NULL, 3)",
        "array(INTERVAL '1' DAY)",
        "named_struct('x', array('a'), 'y', NULL)",
        "CAST(NULL AS DECIMAL(10,2))",
      })
  void valueReturnsWithItsTypeAndSql(String value) {
    Literal literal = roundTrip(value);
    String sql = literal.sql();
    boolean isSame =
        (Boolean)
            TestSpark.SPARK
                .sql(
                    "SELECT typeof("
                        + sql
                        + ") = typeof("
                        + value
                        + ") AND "
                        + sql
                        + " <=> "
                        + value)
                .head()
                .get(0);
    assertEquals(true, isSame, sql);
  }

  @Test
  void mapReturnsWithItsEntries() {
    assertEquals(
        "MAP('a', 1.5BD, 'b', CAST(NULL AS DECIMAL(2,1)))",
        roundTrip("map('a', 1.5, 'b', NULL)").sql());
  }

  @Test
  void nullHasItsType() {
    Literal literal = roundTrip("CAST(NULL AS INT)");
    assertNull(literal.value());
    assertEquals("int", literal.dataType().sql().toLowerCase(java.util.Locale.ROOT));
  }

  @Test
  void rowsBeyondTheLimitAreRejected() {
    StructType type = StructType.fromDDL("a BIGINT");
    InternalRow[] rows = {InternalRow.apply(seq(1L)), InternalRow.apply(seq(2L))};
    int rowBytes = 16; // a word for NULLs, and one for the value
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    UnsafeRowBytes.put(answer, type, rows, 2 * rowBytes);
    assertEquals(2, answer.get("rows").size());
    RejectionException rejection =
        assertThrows(
            RejectionException.class,
            () -> UnsafeRowBytes.put(answer, type, rows, 2 * rowBytes - 1));
    assertEquals("result too large 31", rejection.kind() + " " + rejection.subject());
  }

  private static scala.collection.immutable.Seq<Object> seq(Object value) {
    return deltagateway.internals.ScalaConversions.one(value);
  }
}
