package deltagateway.analysis;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * PostgreSQL's operators `->`, `->>`, `#>` and `#>>`, and its casts to `json` and `jsonb`, on
 * texts.
 *
 * <p>Spark's get_json_object has paths in which not every key can be written, and does not
 * distinguish the string "1" from the number. The class is public for the code that Spark
 * generates.
 */
public final class PostgresJson {
  private PostgresJson() {}

  // An element of the text of an array, quoted or not, and what follows it.
  private static final Pattern MEMBER =
      Pattern.compile(
          "\\s*(?:\"((?:[^\"\\\\]|\\\\.)*+)\"|((?:[^{},\"\\\\]|\\\\.)*+))\\s*(,|\\z)",
          Pattern.DOTALL);
  private static final Pattern ESCAPE = Pattern.compile("\\\\(.)", Pattern.DOTALL);
  private static final int SHOWN_MAX = 200;

  /** Returns the text if it is a JSON value. */
  public static UTF8String json(UTF8String value) {
    return applied(value, "JSON", text -> new JsonText(text).whole() == null ? null : text);
  }

  /** Returns a JSON value as `jsonb` has it. */
  public static UTF8String jsonb(UTF8String value) {
    return applied(
        value,
        "JSONB",
        text -> {
          JsonText json = new JsonText(text);
          return json.normalized(json.whole());
        });
  }

  public static UTF8String get(UTF8String value, UTF8String key) {
    return part(value, (json, whole) -> json.field(whole, key.toString()), false);
  }

  public static UTF8String get(UTF8String value, int index) {
    return part(value, (json, whole) -> json.element(whole, index), false);
  }

  public static UTF8String getText(UTF8String value, UTF8String key) {
    return part(value, (json, whole) -> json.field(whole, key.toString()), true);
  }

  public static UTF8String getText(UTF8String value, int index) {
    return part(value, (json, whole) -> json.element(whole, index), true);
  }

  public static UTF8String path(UTF8String value, UTF8String path) {
    return along(value, members(path.toString()), false);
  }

  public static UTF8String path(UTF8String value, ArrayData path) {
    return along(value, members(path), false);
  }

  public static UTF8String pathText(UTF8String value, UTF8String path) {
    return along(value, members(path.toString()), true);
  }

  public static UTF8String pathText(UTF8String value, ArrayData path) {
    return along(value, members(path), true);
  }

  private interface Selection {
    JsonText.Span of(JsonText json, JsonText.Span whole);
  }

  private static UTF8String along(UTF8String value, List<String> steps, boolean isText) {
    if (steps.contains(null)) return null;
    return part(
        value,
        (json, whole) -> {
          JsonText.Span place = whole;
          for (String step : steps) {
            if (place == null) return null;
            place = json.step(place, step);
          }
          return place;
        },
        isText);
  }

  private static UTF8String part(UTF8String value, Selection selection, boolean isText) {
    return applied(
        value,
        "JSON",
        text -> {
          JsonText json = new JsonText(text);
          JsonText.Span found = selection.of(json, json.whole());
          if (found == null) return null;
          return isText ? json.content(found) : json.written(found);
        });
  }

  private static UTF8String applied(
      UTF8String value, String type, Function<String, String> function) {
    String text = value.toString();
    try {
      String found = function.apply(text);
      return found == null ? null : UTF8String.fromString(found);
    } catch (JsonText.Malformed error) {
      throw invalid(text, type);
    }
  }

  private static List<String> members(ArrayData path) {
    List<String> found = new ArrayList<>();
    for (int place = 0; place < path.numElements(); place++)
      found.add(path.isNullAt(place) ? null : path.getUTF8String(place).toString());
    return found;
  }

  /** Returns the elements of an array's text such as `{a,"b c",0}`; null for NULL. */
  private static List<String> members(String text) {
    String trimmed = text.strip();
    if (trimmed.length() < 2 || !trimmed.startsWith("{") || !trimmed.endsWith("}"))
      throw invalid(text, "ARRAY<STRING>");
    String content = trimmed.substring(1, trimmed.length() - 1);
    List<String> found = new ArrayList<>();
    if (content.isBlank()) return found;
    Matcher member = MEMBER.matcher(content);
    while (true) {
      if (!member.lookingAt()) throw invalid(text, "ARRAY<STRING>");
      String quoted = member.group(1);
      String plain = quoted == null ? member.group(2).stripTrailing() : quoted;
      if (quoted == null && plain.isEmpty()) throw invalid(text, "ARRAY<STRING>");
      boolean isNull = quoted == null && plain.equalsIgnoreCase("null");
      found.add(isNull ? null : ESCAPE.matcher(plain).replaceAll("$1"));
      if (member.group(3).isEmpty()) return found;
      member.region(member.end(), content.length());
    }
  }

  /** Returns the error of a cast of a text. */
  static SparkRuntimeException invalid(String text, String type) {
    String shown = text.length() > SHOWN_MAX ? text.substring(0, SHOWN_MAX) + "…" : text;
    Map<String, String> parameters =
        Map.of(
            "expression",
            "'" + shown + "'",
            "sourceType",
            "\"STRING\"",
            "targetType",
            quoted(type));
    return new SparkRuntimeException(
        "CAST_INVALID_INPUT", ScalaConversions.map(parameters), null, new QueryContext[0], "");
  }

  private static String quoted(String type) {
    return "\"" + type + "\"";
  }
}
