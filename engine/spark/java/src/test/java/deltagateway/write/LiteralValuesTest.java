package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Value lists that are read without Spark's parser, with its values and types. */
@Tag("spark")
class LiteralValuesTest {
  private static final SQLConf CONF = TestSpark.SPARK.sessionState().conf();

  private static LiteralValues read(String text) {
    return LiteralValues.parse(text, StatementRequest.JSON.createArrayNode(), CONF);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "VALUES (1)",
        " values\n( 1 ,\t-2),(3,4)",
        "VALUES (1, -2),\n (3, - 4)  ",
        "VALUES(NULL, true, False, null)",
        "VALUES ('a', '', 'it is, (not) a \"list\"', 'zwei\nZeilen ü\uD83D\uDE00')",
        "VALUES (1.50, .5, 5., -0.0, 00.10)",
        "VALUES (1e3, 1.5E-2, -.5e1, -0e0, 1e-400)",
        "VALUES (DATE'2024-02-29', date '0001-01-01', DATE '9999-12-31')",
        "VALUES (007, 2147483647, -2147483648, 2147483648)",
        "VALUES (9223372036854775807, -9223372036854775808)",
        "VALUES (1), (2147483648), (NULL), (1.5), (1e0)",
        "VALUES ('a', 1.5), (NULL, 22.25), ('b', NULL)",
        "VALUES (DATE'2024-02-29'), (NULL)",
        "VALUES (-1234567890123456789012345678901.234)",
      })
  void valuesAreThoseOfSparksParser(String text) {
    LiteralValues values = read(text);
    assertNotNull(values);
    LocalRelation spark = (LocalRelation) TestSpark.analyzed(text);
    List<Attribute> columns = ScalaConversions.list(spark.output());
    assertEquals(columns.size(), values.width());
    List<InternalRow> rows = values.rows(columns, CONF);
    assertEquals(ScalaConversions.list(spark.data()), rows);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT 1",
        "VALUES",
        "VALUES ()",
        "VALUES 1, 2",
        "VALUES (1), 2",
        "VALUES (1), (2, 3)",
        "VALUES (1) AS v(a)",
        "VALUES (1);",
        "VALUES (1),",
        "VALUES (1,)",
        "VALUES (1 2)",
        "VALUES (1 + 1)",
        "VALUES ((1))",
        "VALUES (?)",
        "VALUES (:a)",
        "VALUES (1 /* one */)",
        "VALUES (1) -- one",
        "VALUES (1L)",
        "VALUES (1.5BD)",
        "VALUES (1D)",
        "VALUES (1e)",
        "VALUES (1e3f)",
        "VALUES (1e999)",
        "VALUES (.)",
        "VALUES (-)",
        "VALUES (1.2.3)",
        "VALUES (0x1F)",
        "VALUES (1_000)",
        "VALUES (--1)",
        "VALUES (+1)",
        "VALUES (DEFAULT)",
        "VALUES (current_date())",
        "VALUES (r'a')",
        "VALUES (\"a\")",
        "VALUES ('a''b')",
        "VALUES ('a' 'b')",
        "VALUES ('a\\n')",
        "VALUES ('a",
        "VALUES (X'00')",
        "VALUES (DATE'2024-2-9')",
        "VALUES (DATE'2023-02-29')",
        "VALUES (DATE'today')",
        "VALUES (TIMESTAMP'2024-01-01 00:00:00')",
        "VALUES (nulls)",
        "VALUES (truetrue)",
        "VALUES (9223372036854775808)",
        "VALUES (12345678901234567890123456789012345.5)",
        "VALUES (1) UNION ALL VALUES (2)",
      })
  void everythingElseIsLeftToSpark(String text) {
    assertNull(read(text));
  }

  @Test
  void exponentsMayBeDecimals() {
    CONF.setConfString("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "true");
    try {
      assertNull(read("VALUES (1e3)"));
      assertNotNull(read("VALUES (1.5)"));
    } finally {
      CONF.unsetConf("spark.sql.legacy.exponentLiteralAsDecimal.enabled");
    }
  }

  private static ArrayNode parameters(String... namesTypesValues) {
    ArrayNode parameters = StatementRequest.JSON.createArrayNode();
    for (int i = 0; i < namesTypesValues.length; i += 3)
      parameters
          .addObject()
          .put("name", namesTypesValues[i])
          .put("type", namesTypesValues[i + 1])
          .put("value", namesTypesValues[i + 2]);
    return parameters;
  }

  private static String shape(String text, ArrayNode parameters) {
    LiteralValues values = LiteralValues.parse(text, parameters, CONF);
    return values == null ? null : values.shape();
  }

  @Test
  void markersHaveTheTypesOfTheirValues() {
    assertEquals(
        "tinyint \ndate null\n",
        shape("VALUES (?, ?)", parameters(null, "TINYINT", "1", null, "date", null)));
    assertEquals(
        "string \nint \n",
        shape("VALUES (:b, :a)", parameters("a", "INT", "1", "b", "STRING", "it's \\")));
    assertNull(shape("VALUES (?)", parameters(null, "INT", "x")));
    assertNull(shape("VALUES (?)", parameters(null, "DOUBLE", "NaN")));
    assertNull(shape("VALUES (?)", parameters(null, "TIMESTAMP", "2024-01-01 00:00:00")));
    assertNull(shape("VALUES (?)", parameters(null, "INT", "1", null, "INT", "2")));
    assertNull(shape("VALUES (?)", parameters(null, "INT", "1", "a", "INT", "2")));
    assertNull(shape("VALUES (:1)", parameters("1", "INT", "1")));
  }

  @Test
  void shapeHasTypesAndNullability() {
    ArrayNode none = parameters();
    assertEquals("int \nstring null\n", shape("VALUES (1, NULL), (2, 'a')", none));
    assertEquals("void null\n", shape("VALUES (NULL)", none));
    assertEquals("decimal(2,1) bigint \n", shape("VALUES (1.5), (4000000000), (2.5)", none));
  }
}
