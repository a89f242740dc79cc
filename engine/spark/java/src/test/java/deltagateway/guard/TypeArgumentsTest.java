package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.expressions.ExprUtils$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Functions with an argument that is a type, which must not load the class that it names. */
@Tag("spark")
class TypeArgumentsTest {
  private static SparkSession session;

  /** A class that a text may name. */
  public static final class LoadedType extends UserDefinedType<Integer> {
    private static final long serialVersionUID = 1;
    static final AtomicInteger INSTANCES = new AtomicInteger();

    public LoadedType() {
      INSTANCES.incrementAndGet();
    }

    @Override
    public DataType sqlType() {
      return DataTypes.IntegerType;
    }

    @Override
    public Object serialize(Integer value) {
      return value;
    }

    @Override
    public Integer deserialize(Object stored) {
      return (Integer) stored;
    }

    @Override
    public Class<Integer> userClass() {
      return Integer.class;
    }
  }

  private static final String UDT =
      "{\"type\":\"udt\",\"class\":\""
          + LoadedType.class.getName()
          + "\",\"pyClass\":null,\"sqlType\":\"integer\"}";

  /** A session copies Spark's functions when it starts. */
  @BeforeAll
  static void openSession() {
    TypeArguments.register();
    session = TestSpark.SPARK.newSession();
  }

  @BeforeEach
  void forgetInstances() {
    LoadedType.INSTANCES.set(0);
  }

  private static DataType type(String expression) {
    return session.sql("SELECT " + expression).schema().fields()[0].dataType();
  }

  private static String struct(String type, String metadata) {
    return "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":"
        + type
        + ",\"nullable\":true,\"metadata\":"
        + metadata
        + "}]}";
  }

  @Test
  void sparkItselfLoadsTheClass() {
    assertEquals(
        LoadedType.class,
        ExprUtils$.MODULE$
            .evalTypeExpr(new Literal(UTF8String.fromString(UDT), DataTypes.StringType))
            .getClass());
    assertEquals(1, LoadedType.INSTANCES.get());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "from_json('{}', '%s')",
        "builtin.from_json('{}', '%s')",
        "system.builtin.FROM_JSON('{}', '%s', map('mode', 'PERMISSIVE'))",
        "from_json('{}', concat('', '%s'))",
        "from_json('{}', CASE WHEN current_timestamp() > TIMESTAMP '1970-01-01' THEN '%s' END)",
        "from_json('{}', CAST(unbase64(base64('%s')) AS STRING))",
        "transform(array('{}'), x -> from_json(x, '%s'))",
        "from_csv('1', '%s')",
        "from_xml('<a/>', '%s')",
        "variant_get(parse_json('{}'), '$.a', '%s')",
        "try_variant_get(parse_json('{}'), '$.a', '%s')",
      })
  void classesAreNotLoaded(String call) {
    String list = "{\"type\":\"array\",\"elementType\":" + UDT + ",\"containsNull\":true}";
    String map =
        "{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":"
            + UDT
            + ",\"valueContainsNull\":true}";
    for (String text : new String[] {UDT, " " + UDT, list, map, struct(UDT, "{}"), UDT + " x"}) {
      RejectionException rejection =
          assertThrows(
              RejectionException.class, () -> type(call.formatted(text)), call.formatted(text));
      assertEquals("a user-defined type of Java", rejection.subject());
    }
    String escaped = UDT.replace("udt", "\\\\u0075dt");
    assertThrows(RejectionException.class, () -> type(call.formatted(escaped)));
    assertEquals(0, LoadedType.INSTANCES.get());
  }

  @ParameterizedTest
  @ValueSource(strings = {"EXISTS_DEFAULT", "CURRENT_DEFAULT", "__CHAR_VARCHAR_TYPE_STRING", "a.b"})
  void metadataThatSparkReadsIsRejected(String key) {
    String text = struct("\"integer\"", "{\"" + key + "\":\"1\"}");
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> type("from_json('{}', '" + text + "')"));
    assertEquals("metadata of a column (" + key + ")", rejection.subject());
    String allowed = struct("\"integer\"", "{\"comment\":\"1\",\"unit\":\"m\"}");
    assertEquals("struct<a:int>", type("from_json('{}', '" + allowed + "')").catalogString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          from_json('{}', 'a INT, `b{` STRING')          | struct<a:int,b{:string>
          from_json('{}', 'struct<a:int>')               | struct<a:int>
          from_json('{}', schema_of_json('{"a":[1]}'))   | struct<a:array<bigint>>
          from_csv('1', concat('a', ' INT'))             | struct<a:int>
          from_xml('<p><a>1</a></p>', 'a INT')           | struct<a:int>
          variant_get(parse_json('1'), '$', 'int')       | int
          try_variant_get(parse_json('1'), '$', 'date')  | date
          variant_get(parse_json('1'), '$', '"integer"') | int
          """)
  void otherTypesAreThoseOfSpark(String call, String expected) {
    assertEquals(expected, type(call).catalogString());
  }

  @Test
  void aClassOfPythonIsTheClients() {
    String vector = struct(UDT.replace("null", "\"pyspark.ml.linalg.VectorUDT\""), "{}");
    StructType found = (StructType) type("from_json('{}', '" + vector + "')");
    UserDefinedType<?> type = assertInstanceOf(UserDefinedType.class, found.apply("a").dataType());
    assertEquals(DataTypes.IntegerType, type.sqlType());
    assertEquals(0, LoadedType.INSTANCES.get());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "from_json('{}', 'a INT,')",
        "from_json('{}', '{\"type\":')",
        "from_json('{}', '{\"type\":\"nothing\"}')",
        "from_json('{}', CAST(NULL AS STRING))",
        "from_json('{}', uuid())",
        "from_json('{}', 3)",
        "from_json('{}')",
        "variant_get(v => parse_json('1'), path => '$', type => '%s')",
      })
  void errorsAreThoseOfSpark(String call) {
    Exception failure = assertThrows(Exception.class, () -> type(call.formatted(UDT)));
    assertTrue(failure instanceof SparkThrowable, failure::toString);
    assertEquals(0, LoadedType.INSTANCES.get());
  }

  /** No function that may be called has an argument that the check does not know. */
  @Test
  void noOtherFunctionLoadsAClass() {
    String text = "'" + UDT + "'";
    for (String name : TestSpark.list("functions")) {
      for (String first : new String[] {text, "parse_json('{}')"}) {
        for (int others = 1; others < 4; others++) {
          String call = name + "(" + first + (", " + text).repeat(others) + ")";
          try {
            type(call);
          } catch (Exception notOfTheseTypes) {
            // most functions have other arguments
          }
          assertEquals(0, LoadedType.INSTANCES.get(), call);
        }
      }
    }
  }
}
