package deltagateway.guard;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Types that users and files write in Spark's JSON.
 *
 * <p>JSON can do what DDL cannot: Spark loads the class that a user-defined type names, calls its
 * constructor, and evaluates the texts of default values in the metadata of columns.
 */
public final class TypeTexts {
  private static final String CLASS = "class";
  private static final String METADATA = "metadata";

  /** Key of columns' metadata that Spark reads, as a text. */
  private static final String COMMENT = "comment";

  /**
   * Keys of columns' metadata that neither Spark, nor tables, nor the gateway reads: keys with a
   * meaning have a dot (`delta.identity.start`), underscores at the beginning (`__metadata_col`),
   * or capital words (`CURRENT_DEFAULT`). `engine/types/schema.py` has the same rule.
   */
  private static final Pattern USER_KEY =
      Pattern.compile("(?![A-Z]+_)[\\p{L}\\p{N}][^.\\p{Cntrl}]{0,199}");

  private TypeTexts() {}

  /** Returns null if the text is no JSON. */
  public static JsonNode json(String text) {
    try {
      return StatementRequest.JSON.readTree(text);
    } catch (JsonProcessingException failure) {
      return null;
    }
  }

  /** Returns a description of a part of a type that no user may write, or null. */
  public static String rejectedPart(JsonNode json) {
    if (isUserType(json) && json.has(CLASS)) return "a user-defined type of Java";
    String found = json.has(METADATA) ? rejectedMetadata(json.get(METADATA)) : null;
    for (JsonNode part : json) {
      if (found == null) found = rejectedPart(part);
    }
    return found;
  }

  /** Returns a description of a key of a column's metadata that no user may write, or null. */
  public static String rejectedMetadata(JsonNode metadata) {
    for (String key : keys(metadata)) {
      boolean isText = !key.equals(COMMENT) || metadata.get(key).isTextual();
      if (!isText || !USER_KEY.matcher(key).matches()) return "metadata of a column (" + key + ")";
    }
    return null;
  }

  /**
   * Removes Java's class from user-defined types that have one of Python too, such as vectors of
   * Spark ML. Python's is for the client alone, and values are the same without Java's. Returns
   * true if a type was changed.
   */
  public static boolean removeClasses(JsonNode json) {
    boolean isChanged = false;
    for (JsonNode part : json) isChanged |= removeClasses(part);
    if (isUserType(json)
        && json instanceof ObjectNode type
        && type.path("pyClass").isTextual()
        && type.has(CLASS)) {
      type.remove(CLASS);
      if (!type.has("serializedClass")) type.put("serializedClass", "");
      isChanged = true;
    }
    return isChanged;
  }

  /** Returns a type with stored types for user-defined ones, and no metadata but comments. */
  public static JsonNode stored(JsonNode json) {
    if (isUserType(json)) return stored(json.path("sqlType"));
    if (json instanceof ArrayNode parts) {
      for (int i = 0; i < parts.size(); i++) parts.set(i, stored(parts.get(i)));
    } else if (json instanceof ObjectNode type) {
      for (String key : keys(type)) type.set(key, stored(type.get(key)));
      if (type.get(METADATA) instanceof ObjectNode metadata)
        metadata.retain(metadata.path(COMMENT).isTextual() ? COMMENT : "");
    }
    return json;
  }

  private static boolean isUserType(JsonNode json) {
    return json.path("type").asText().equals("udt");
  }

  private static List<String> keys(JsonNode json) {
    List<String> keys = new ArrayList<>();
    json.fieldNames().forEachRemaining(keys::add);
    return keys;
  }
}
