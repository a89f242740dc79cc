package deltagateway.analysis;

import static java.util.Map.entry;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Functions for operators of PostgreSQL whose meaning depends on the types of their operands.
 *
 * <p>A translated statement has no types yet, so it calls a function. Spark resolves the arguments
 * first; then the call becomes the expression with PostgreSQL's meaning, which is written as SQL
 * over the arguments `a` and `b`. The names are those of `engine/sql/postgres/functions.py`.
 */
public final class PostgresFunctions {
  private PostgresFunctions() {}

  private static final Set<String> BINARY =
      Set.of("pg_divide", "pg_add", "pg_subtract", "pg_at_time_zone", "pg_date_trunc");

  /** SQL of each function for the types of its arguments. */
  private static final Map<String, Function<List<DataType>, String>> FUNCTIONS =
      Map.ofEntries(
          entry("pg_divide", types -> divide(types.get(0), types.get(1))),
          entry("pg_add", types -> add(types.get(0), types.get(1))),
          entry("pg_subtract", types -> subtract(types.get(0), types.get(1))),
          entry("pg_at_time_zone", types -> atTimeZone(types.get(1))),
          entry("pg_date_trunc", types -> dateTrunc(types.get(1))),
          entry("pg_epoch", types -> epoch(types.get(0))),
          entry("pg_text", types -> text(types.get(0))),
          entry("pg_round", types -> isFloating(types.get(0)) ? "rint(a)" : "round(a)"),
          entry("pg_numeric", types -> numeric(types.get(0))),
          entry("pg_integer", types -> integer(types.get(0))),
          entry("pg_output", types -> output(types.get(0))));

  /** Functions on JSON, with the methods of {@link PostgresJson} that they call. */
  private static final Map<String, String> JSON_FUNCTIONS =
      Map.of(
          "pg_json", "json",
          "pg_jsonb", "jsonb",
          "pg_json_get", "get",
          "pg_json_get_text", "getText",
          "pg_json_path", "path",
          "pg_json_path_text", "pathText");

  /** Registers the functions for all sessions. */
  public static void register(SparkSessionExtensions extensions) {
    FUNCTIONS.forEach(
        (name, function) ->
            register(extensions, name, arguments -> build(name, function, arguments)));
    JSON_FUNCTIONS.forEach(
        (name, method) ->
            register(extensions, name, arguments -> callOnJson(name, method, arguments)));
    register(extensions, "pg_uuid", PostgresFunctions::castToUuid);
  }

  private static void register(
      SparkSessionExtensions extensions,
      String name,
      Function<List<Expression>, Expression> builder) {
    ExpressionInfo info = new ExpressionInfo(PostgresFunctions.class.getName(), name);
    extensions.injectFunction(
        new Tuple3<>(
            new FunctionIdentifier(name),
            info,
            new AbstractFunction1<Seq<Expression>, Expression>() {
              @Override
              public Expression apply(Seq<Expression> arguments) {
                return builder.apply(ScalaConversions.list(arguments));
              }
            }));
  }

  private static Expression build(
      String name, Function<List<DataType>, String> function, List<Expression> arguments) {
    ensureCount(name, BINARY.contains(name) ? 2 : 1, arguments);
    List<DataType> types = arguments.stream().map(Expression::dataType).toList();
    return filled(function.apply(types), arguments);
  }

  private static void ensureCount(String name, int count, List<Expression> arguments) {
    if (arguments.size() != count)
      throw new RejectionException("function", name + " with " + arguments.size() + " arguments");
  }

  /** Returns the expression with this text over the arguments. */
  private static Expression filled(String text, List<Expression> arguments) {
    Expression body = CatalystSqlParser$.MODULE$.parseExpression(text);
    return body.transformUp(
        ScalaConversions.rewrite(
            node ->
                node instanceof UnresolvedAttribute attribute
                    ? arguments.get(attribute.name().equals("a") ? 0 : 1)
                    : node));
  }

  private static Expression callOnJson(String name, String method, List<Expression> arguments) {
    boolean isCast = method.startsWith("json");
    ensureCount(name, isCast ? 1 : 2, arguments);
    List<Expression> converted = new ArrayList<>();
    converted.add(filled(document(name, arguments.get(0).dataType()), arguments));
    if (!isCast) {
      DataType type = arguments.get(1).dataType();
      String step = method.startsWith("path") ? path(name, type) : step(name, type);
      converted.add(filled(step, arguments));
    }
    return call(PostgresJson.class, method, converted);
  }

  private static Expression castToUuid(List<Expression> arguments) {
    ensureCount("pg_uuid", 1, arguments);
    DataType type = arguments.get(0).dataType();
    if (!(type instanceof StringType || type instanceof NullType))
      throw new RejectionException("function", "pg_uuid of " + type.sql());
    return call(PostgresUuid.class, "uuid", List.of(filled("CAST(a AS STRING)", arguments)));
  }

  /** Returns a call of a method on texts that returns a text. */
  private static Expression call(Class<?> type, String method, List<Expression> arguments) {
    return new StaticInvoke(
        type,
        StringType$.MODULE$,
        method,
        ScalaConversions.seq(arguments),
        ScalaConversions.emptySeq(),
        true,
        true,
        true,
        ScalaConversions.none());
  }

  private static String document(String name, DataType type) {
    if (type instanceof StringType) return "a";
    if (type instanceof NullType) return "CAST(a AS STRING)";
    if (type instanceof StructType
        || type instanceof MapType
        || type instanceof ArrayType
        || type instanceof VariantType) return "to_json(a)";
    throw new RejectionException("function", name + " of " + type.sql());
  }

  /** A text selects a field, and an integer an element. */
  private static String step(String name, DataType type) {
    if (type instanceof StringType || type instanceof NullType) return "CAST(b AS STRING)";
    if (isIntegral(type)) return "CAST(b AS INT)";
    throw new RejectionException("function", name + " with a key of the type " + type.sql());
  }

  private static String path(String name, DataType type) {
    if (type instanceof StringType || type instanceof NullType) return "CAST(b AS STRING)";
    if (type instanceof ArrayType) return "CAST(b AS ARRAY<STRING>)";
    throw new RejectionException("function", name + " with a path of the type " + type.sql());
  }

  private static boolean isIntegral(DataType type) {
    return type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType;
  }

  private static boolean isFloating(DataType type) {
    return type instanceof FloatType || type instanceof DoubleType;
  }

  /** Integers are divided without a remainder, and have the wider of both types. */
  private static String divide(DataType left, DataType right) {
    if (left instanceof DecimalType || right instanceof DecimalType)
      return isFloating(left) || isFloating(right) ? "a / b" : divideDecimals(left);
    if (!isIntegral(left) || !isIntegral(right)) return "a / b";
    if (left instanceof LongType || right instanceof LongType) return "a DIV b";
    boolean isInt = left instanceof IntegerType || right instanceof IntegerType;
    return "CAST(a DIV b AS " + (isInt ? "INT)" : "SMALLINT)");
  }

  /**
   * A quotient of numbers with a scale has at least 16 digits after the point, if there is space.
   */
  private static String divideDecimals(DataType left) {
    int digits = 10;
    if (left instanceof DecimalType number) digits = number.precision() - number.scale();
    if (left instanceof LongType) digits = 19;
    boolean isScaled = left instanceof DecimalType number && number.scale() >= 16;
    if (isScaled || digits > 22) return "a / b";
    return "CAST(a AS DECIMAL(" + (digits + 16) + ", 16)) / b";
  }

  private static boolean isInterval(DataType type) {
    return !isIntegral(type) && type.typeName().startsWith("interval");
  }

  /** A date and an interval make a timestamp. */
  private static String add(DataType left, DataType right) {
    if (left instanceof DateType && isInterval(right)) return "CAST(a AS TIMESTAMP_NTZ) + b";
    if (isInterval(left) && right instanceof DateType) return "CAST(b AS TIMESTAMP_NTZ) + a";
    if (isIntegral(left) && right instanceof DateType) return "b + a";
    return "a + b";
  }

  /** The difference of two dates is a number of days. */
  private static String subtract(DataType left, DataType right) {
    if (left instanceof DateType && right instanceof DateType) return "datediff(a, b)";
    if (left instanceof DateType && isInterval(right)) return "CAST(a AS TIMESTAMP_NTZ) - b";
    return "a - b";
  }

  /** `a` is the zone. An instant becomes local time there, and local time there an instant. */
  private static String atTimeZone(DataType type) {
    if (type instanceof TimestampType) return "convert_timezone(a, CAST(b AS TIMESTAMP_NTZ))";
    return "CAST(convert_timezone(a, current_timezone(), CAST(b AS TIMESTAMP_NTZ)) AS TIMESTAMP)";
  }

  private static String dateTrunc(DataType type) {
    return type instanceof TimestampNTZType
        ? "CAST(date_trunc(a, CAST(b AS TIMESTAMP)) AS TIMESTAMP_NTZ)"
        : "date_trunc(a, CAST(b AS TIMESTAMP))";
  }

  /** Seconds since 1970; local time counts as UTC. */
  private static String epoch(DataType type) {
    if (type instanceof TimestampType) return "CAST(unix_micros(a) AS DECIMAL(38, 6)) / 1000000";
    if (type instanceof DayTimeIntervalType)
      return "CAST(EXTRACT(DAY FROM a) * 86400L + EXTRACT(HOUR FROM a) * 3600 "
          + "+ EXTRACT(MINUTE FROM a) * 60 AS DECIMAL(38, 6)) + EXTRACT(SECOND FROM a)";
    if (isInterval(type))
      return "CAST(EXTRACT(YEAR FROM a) * 31557600L + EXTRACT(MONTH FROM a) * 2592000L "
          + "+ EXTRACT(DAY FROM a) * 86400L + EXTRACT(HOUR FROM a) * 3600 "
          + "+ EXTRACT(MINUTE FROM a) * 60 AS DECIMAL(38, 6)) + EXTRACT(SECOND FROM a)";
    return "CAST(unix_micros(convert_timezone('UTC', current_timezone(), CAST(a AS TIMESTAMP_NTZ))"
        + "::TIMESTAMP) AS DECIMAL(38, 6)) / 1000000";
  }

  /** Text as PostgreSQL has it: no fraction of zero, and arrays in braces. */
  private static String text(DataType type) {
    if (isFloating(type)) return "regexp_replace(CAST(a AS STRING), '\\\\.0$', '')";
    if (type instanceof ArrayType)
      return "concat('{', array_join(transform(a, x -> CAST(x AS STRING)), ',', 'NULL'), '}')";
    return "CAST(a AS STRING)";
  }

  /** Text as functions such as concat make it, which is shorter for booleans. */
  private static String output(DataType type) {
    return type instanceof BooleanType
        ? "CASE WHEN a THEN 't' WHEN NOT a THEN 'f' END"
        : text(type);
  }

  private static String numeric(DataType type) {
    if (type instanceof DecimalType) return "a";
    return isIntegral(type) ? "CAST(a AS DECIMAL(38, 0))" : "CAST(a AS DECIMAL(38, 10))";
  }

  /** Rounds to the nearest integer; halves of floating-point numbers go to the even one. */
  private static String integer(DataType type) {
    if (isFloating(type)) return "rint(a)";
    if (type instanceof DecimalType) return "round(a, 0)";
    return type instanceof BooleanType || type instanceof StringType ? "CAST(a AS BIGINT)" : "a";
  }
}
