package deltagateway.analysis;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** PostgreSQL's cast to `uuid`, on texts. The class is public for the code that Spark generates. */
public final class PostgresUuid {
  private PostgresUuid() {}

  /** Digits with a hyphen after any four of them, perhaps in braces. */
  private static final Pattern TEXT =
      Pattern.compile("(\\{)?((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})(\\})?");

  private static final Pattern GROUPS = Pattern.compile("(.{8})(.{4})(.{4})(.{4})(.{12})");

  /** Returns the text in the form in which PostgreSQL has it. */
  public static UTF8String uuid(UTF8String value) {
    Matcher found = TEXT.matcher(value.toString());
    if (!found.matches() || (found.group(1) == null) != (found.group(3) == null))
      throw PostgresJson.invalid(value.toString(), "UUID");
    String digits = found.group(2).replace("-", "").toLowerCase(Locale.ROOT);
    return UTF8String.fromString(GROUPS.matcher(digits).replaceFirst("$1-$2-$3-$4-$5"));
  }
}
