package deltagateway.connect;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.TypeTexts;
import org.apache.spark.connect.proto.DataType;

/**
 * User-defined types that have a class of Python and one of Java, such as vectors of Spark ML.
 * Spark would load the latter by its name. Python's is for the client alone, so the type stays
 * without Java's: its values are the same, and texts of them are those of the underlying type.
 */
final class UserTypes {
  private UserTypes() {}

  /** Returns a schema in JSON without these classes; another text as it is. */
  static String withoutClasses(String schema) {
    JsonNode json = TypeTexts.json(schema);
    return json != null && TypeTexts.removeClasses(json) ? json.toString() : schema;
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
}
