package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Names of the fields that cross between Python and Java. */
class SchemaTest {
  private static ObjectNode objectOf(Schema schema) throws Exception {
    ObjectNode object = StatementRequest.JSON.createObjectNode();
    JsonNode fields = StatementRequest.JSON.readTree(Schema.toJson()).get(schema.name());
    for (JsonNode field : fields) object.putNull(field.textValue());
    return object;
  }

  @ParameterizedTest
  @EnumSource
  void objectWithAllFieldsPassesAndAnUnknownFieldIsRejected(Schema schema) throws Exception {
    ObjectNode object = objectOf(schema);
    assertSame(object, schema.check(object));
    object.put("color", "red");
    Exception failure = assertThrows(IllegalArgumentException.class, () -> schema.check(object));
    assertEquals(schema + " has an unknown field color", failure.getMessage());
  }

  @ParameterizedTest
  @EnumSource
  void objectWithoutItsFirstFieldIsRejected(Schema schema) throws Exception {
    ObjectNode object = objectOf(schema);
    String first = object.fieldNames().next();
    object.remove(first);
    Exception failure = assertThrows(IllegalArgumentException.class, () -> schema.check(object));
    assertEquals(schema + " has no field " + first, failure.getMessage());
  }

  @Test
  void fieldAfterAQuestionMarkMayBeMissing() throws Exception {
    ObjectNode parameter = objectOf(Schema.PARAMETER);
    Schema.PARAMETER.check(parameter.deepCopy().without("text"));
    ObjectNode withoutType = parameter.deepCopy().without("type");
    assertThrows(IllegalArgumentException.class, () -> Schema.PARAMETER.check(withoutType));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"statement\": \"s\", \"scan\": 0, \"zone\": \"UTC\", \"filters\": []}",
        "{\"statement\": \"s\", \"scan\": 0, \"zone\": \"UTC\", \"filters\": [], \"rows\": 3}",
        "{\"statement\": \"s\", \"given\": 0}",
        "{\"statement\": \"s\", \"given\": 0, \"chosen\": null, \"used\": []}",
        "{\"statement\": \"s\", \"result\": {}}",
        "{\"statement\": \"s\", \"disk_bytes\": 1, \"needed\": 1}",
        "{\"statement\": \"s\", \"lease\": \"1\", \"place\": \"s3://b\"}",
      })
  void callbackOfAKnownKindPasses(String json) throws Exception {
    JsonNode callback = StatementRequest.JSON.readTree(json);
    assertSame(callback, Schema.checkCallback(callback));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"statement\": \"s\"} | unknown callback",
        "{\"given\": 0} | unknown callback",
        "{\"statement\": \"s\", \"given\": 0, \"rows\": 1}"
            + " | ROWS_CALLBACK has an unknown field rows",
      })
  void callbackOfNoKnownKindIsRejected(String json, String message) throws Exception {
    JsonNode callback = StatementRequest.JSON.readTree(json);
    Exception failure =
        assertThrows(IllegalArgumentException.class, () -> Schema.checkCallback(callback));
    assertEquals(message, failure.getMessage());
  }

  @Test
  void otherVersionIsRejected() {
    Schema.ensureVersion(Schema.VERSION);
    Exception failure =
        assertThrows(IllegalStateException.class, () -> Schema.ensureVersion(Schema.VERSION - 1));
    assertEquals(
        "The gateway's jar has version 1 of the schema between Python and Java, and its Python"
            + " code version 0: install the gateway again.",
        failure.getMessage());
  }
}
