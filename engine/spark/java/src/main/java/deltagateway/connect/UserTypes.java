package deltagateway.connect;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import org.apache.spark.connect.proto.DataType;

/**
 * User-defined types that have a class of Python and one of Java, such as vectors of Spark ML.
 * Spark would load the latter by its name. Python's is for the client alone, so the type stays
 * without Java's: its values are the same, and texts of them are those of the underlying type.
 */
final class UserTypes {
  private static final String CLASS = "class";

  private UserTypes() {}

  /** Returns a schema in JSON without these classes; another text as it is. */
  static String withoutClasses(String schema) {
    try {
      JsonNode json = StatementRequest.JSON.readTree(schema);
      return removeClasses(json) ? json.toString() : schema;
    } catch (JsonProcessingException failure) {
      return schema; // DDL
    }
  }

  static DataType.UDT withoutClass(DataType.UDT type) {
    if (!type.hasJvmClass()) return type;
    if (!type.hasPythonClass()) throw AllowedMessages.part("a user-defined type of Java");
    return DataType.UDT
        .newBuilder()
        .setType(type.getType())
        .setPythonClass(type.getPythonClass())
        .setSerializedPythonClass(type.getSerializedPythonClass())
        .setSqlType(type.getSqlType())
        .build();
  }

  private static boolean removeClasses(JsonNode json) {
    boolean isChanged = false;
    for (JsonNode part : json) isChanged |= removeClasses(part);
    if (json instanceof ObjectNode type
        && type.path("type").asText().equals("udt")
        && type.path("pyClass").isTextual()
        && type.has(CLASS)) {
      type.remove(CLASS);
      if (!type.has("serializedClass")) type.put("serializedClass", "");
      isChanged = true;
    }
    return isChanged;
  }
}
