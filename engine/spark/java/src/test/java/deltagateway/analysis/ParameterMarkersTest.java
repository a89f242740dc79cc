package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values of parameter markers. */
@Tag("spark")
class ParameterMarkersTest {
  private static LogicalPlan parse(String text, String parameters) throws Exception {
    JsonNode node = StatementRequest.JSON.readTree(parameters.replace('\'', '"'));
    return ParameterMarkers.parse(TestSpark.SPARK, text, node, "Asia/Tokyo");
  }

  /** Returns the value and type of an expression with markers. */
  private static String value(String text, String parameters) throws Exception {
    String query = "SELECT string(v), typeof(v) FROM (SELECT " + text + " AS v)";
    Row row = Dataset$.MODULE$.ofRows(TestSpark.SPARK, parse(query, parameters)).head();
    return row.get(0) + " " + row.get(1);
  }

  private static String parameter(String name, String value, String type) {
    return "{'name':" + name + ",'value':" + value + ",'type':'" + type + "'}";
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "'5' | INT | 5 int",
        "'-5' | BIGINT | -5 bigint",
        "'true' | BOOLEAN | true boolean",
        "'a\\u0027b' | STRING | a'b string",
        "'1.50' | DECIMAL(10,2) | 1.50 decimal(10,2)",
        "'1' | DECIMAL(5,3) | 1.000 decimal(5,3)",
        "'2024-02-29' | DATE | 2024-02-29 date",
        "'2024-02-29 12:00:00' | TIMESTAMP_NTZ | 2024-02-29 12:00:00 timestamp_ntz",
        "'2024-02-29 09:00:00' | TIMESTAMP | 2024-02-29 00:00:00 timestamp",
        "'1.5' | DOUBLE | 1.5 double",
        "null | INT | null int",
        "null | DECIMAL(10,2) | null decimal(10,2)",
      })
  void valueHasItsType(String value, String type, String expected) throws Exception {
    assertEquals(expected, value(":p", "[" + parameter("'p'", value, type) + "]"));
    assertEquals(expected, value("?", "[" + parameter("null", value, type) + "]"));
  }

  @Test
  void positionalMarkersTakeTheirValuesInOrder() throws Exception {
    String parameters =
        "[" + parameter("null", "'7'", "INT") + "," + parameter("null", "'3'", "INT") + "]";
    assertEquals("4 int", value("? - ?", parameters));
  }

  @Test
  void namedMarkerMayOccurAgain() throws Exception {
    assertEquals("49 int", value(":p * :p", "[" + parameter("'p'", "'7'", "INT") + "]"));
  }

  @Test
  void sqlTextReplacesItsMarker() throws Exception {
    String parameter = "[{'name':'p','value':null,'type':'ARRAY<INT>','text':'array(1, 2)'}]";
    assertEquals("[1, 2] array<int>", value(":p", parameter));
  }

  @Test
  void textWithoutParametersIsParsedAsItIs() throws Exception {
    assertEquals(TestSpark.parsed("SELECT 1").toString(), parse("SELECT 1", "[]").toString());
  }

  @Test
  void markerWithoutAValueIsRejected() {
    String parameters = "[" + parameter("'p'", "'7'", "INT") + "]";
    Exception failure = assertThrows(Exception.class, () -> value(":q", parameters));
    assertTrue(failure.getMessage().contains("UNBOUND_SQL_PARAMETER"), failure.getMessage());
  }
}
