package deltagateway.write;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.scan.ScanFiles;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.ByteType$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType$;
import org.apache.spark.sql.types.DoubleType$;
import org.apache.spark.sql.types.FloatType$;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.NullType$;
import org.apache.spark.sql.types.ShortType$;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Rows of a query `VALUES (literal, …), …`, read without Spark's parser, with the values and types
 * that it gives to the literals: NULL, TRUE, FALSE, numbers without a suffix, strings in single
 * quotes without quotes or backslashes inside, DATE 'yyyy-mm-dd', and markers for values of these
 * types.
 */
public final class LiteralValues {
  /** Scala's decimals are exact up to this number of digits. */
  private static final int DIGITS_MAX = 34;

  private static final BigDecimal LONG_MIN = BigDecimal.valueOf(Long.MIN_VALUE);
  private static final BigDecimal LONG_MAX = BigDecimal.valueOf(Long.MAX_VALUE);

  private static final Map<String, DataType> MARKED_TYPES =
      Map.of(
          "TINYINT", ByteType$.MODULE$,
          "SMALLINT", ShortType$.MODULE$,
          "INT", IntegerType$.MODULE$,
          "BIGINT", LongType$.MODULE$,
          "FLOAT", FloatType$.MODULE$,
          "DOUBLE", DoubleType$.MODULE$,
          "BOOLEAN", BooleanType$.MODULE$,
          "DATE", DateType$.MODULE$,
          "STRING", StringType$.MODULE$);

  private record Cell(Object value, DataType type) {}

  private static final Cell NULL = new Cell(null, NullType$.MODULE$);
  private static final Cell TRUE = new Cell(true, BooleanType$.MODULE$);
  private static final Cell FALSE = new Cell(false, BooleanType$.MODULE$);

  private final List<Cell[]> rows;

  private LiteralValues(List<Cell[]> rows) {
    this.rows = rows;
  }

  /**
   * Returns the rows; null if the query has anything else, which Spark has to parse. `conf` has the
   * settings of the statement's session.
   */
  public static LiteralValues parse(String query, JsonNode parameters, SQLConf conf) {
    List<Cell[]> rows = new Scanner(query, parameters, conf).rows();
    return rows == null ? null : new LiteralValues(rows);
  }

  /** Returns a text that is equal for values for which Spark's plan is equal. */
  String shape() {
    StringBuilder shape = new StringBuilder();
    for (int column = 0; column < rows.get(0).length; column++) {
      Set<DataType> types = new LinkedHashSet<>();
      boolean hasNull = false;
      for (Cell[] row : rows) {
        types.add(row[column].type);
        hasNull |= row[column].value == null;
      }
      // NULL has the type of the other values, wherever it occurs.
      if (types.size() > 1) types.remove(NullType$.MODULE$);
      for (DataType type : types) shape.append(type.catalogString()).append(' ');
      shape.append(hasNull ? "null\n" : "\n");
    }
    return shape.toString();
  }

  /** Returns the rows with the types of the columns, to which Spark casts values of others. */
  List<InternalRow> rows(List<Attribute> columns, SQLConf conf) {
    List<Map<DataType, Expression>> casts = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) casts.add(new HashMap<>());
    List<InternalRow> converted = new ArrayList<>(rows.size());
    for (Cell[] row : rows) {
      Object[] values = new Object[row.length];
      for (int i = 0; i < row.length; i++) {
        DataType type = columns.get(i).dataType();
        Cell cell = row[i];
        values[i] =
            cell.value == null || cell.type.equals(type)
                ? cell.value
                : casts
                    .get(i)
                    .computeIfAbsent(cell.type, from -> cast(from, type, conf))
                    .eval(new GenericInternalRow(new Object[] {cell.value}));
      }
      converted.add(new GenericInternalRow(values));
    }
    return converted;
  }

  private static Expression cast(DataType from, DataType to, SQLConf conf) {
    return Cast$.MODULE$.apply(
        new BoundReference(0, from, true),
        to,
        Option.apply(conf.sessionLocalTimeZone()),
        conf.ansiEnabled());
  }

  int width() {
    return rows.get(0).length;
  }

  /** Scanner of one query. Each method returns null at anything that Spark has to parse. */
  private static final class Scanner {
    private final String text;
    private final SQLConf conf;
    private final Map<String, JsonNode> named = new HashMap<>();
    private final Iterator<JsonNode> positional;
    private int at;

    Scanner(String text, JsonNode parameters, SQLConf conf) {
      this.text = text;
      this.conf = conf;
      List<JsonNode> unnamed = new ArrayList<>();
      for (JsonNode parameter : parameters) {
        if (parameter.get("name").isNull()) unnamed.add(parameter);
        else named.put(parameter.get("name").textValue(), parameter);
      }
      this.positional = unnamed.iterator();
    }

    List<Cell[]> rows() {
      if (positional.hasNext() && !named.isEmpty()) return null;
      if (!skipWord("VALUES")) return null;
      List<Cell[]> rows = new ArrayList<>();
      do {
        Cell[] row = row();
        if (row == null || !rows.isEmpty() && row.length != rows.get(0).length) return null;
        rows.add(row);
      } while (skip(','));
      skipBlanks();
      return at == text.length() && !positional.hasNext() ? rows : null;
    }

    private Cell[] row() {
      if (!skip('(')) return null;
      List<Cell> row = new ArrayList<>();
      do {
        Cell cell = cell();
        if (cell == null) return null;
        row.add(cell);
      } while (skip(','));
      return skip(')') ? row.toArray(new Cell[0]) : null;
    }

    private Cell cell() {
      skipBlanks();
      char first = peek();
      if (first == '\'') {
        String value = quoted();
        return value == null ? null : new Cell(UTF8String.fromString(value), StringType$.MODULE$);
      }
      if (first == '-' || first == '.' || isDigit(first)) return number();
      if (first == '?') {
        at++;
        return positional.hasNext() ? marked(positional.next()) : null;
      }
      if (first == ':') {
        at++;
        JsonNode parameter = isDigit(peek()) ? null : named.get(word());
        return parameter == null ? null : marked(parameter);
      }
      return switch (word().toUpperCase(Locale.ROOT)) {
        case "NULL" -> NULL;
        case "TRUE" -> TRUE;
        case "FALSE" -> FALSE;
        case "DATE" -> date();
        default -> null;
      };
    }

    private Cell date() {
      skipBlanks();
      String value = peek() == '\'' ? quoted() : null;
      if (value == null || !value.matches("[0-9]{4}-[0-9]{2}-[0-9]{2}")) return null;
      Object days =
          ScalaConversions.orNull(DateTimeUtils.stringToDate(UTF8String.fromString(value)));
      return days == null ? null : new Cell(days, DateType$.MODULE$);
    }

    private String quoted() {
      int start = at + 1;
      int end = text.indexOf('\'', start);
      if (end < 0) return null;
      at = end + 1;
      String value = text.substring(start, end);
      return value.indexOf('\\') < 0 ? value : null;
    }

    /** Returns a number; blanks may follow its sign. */
    private Cell number() {
      String sign = skip('-') ? "-" : "";
      skipBlanks();
      int start = at;
      skipDigits();
      boolean isDecimal = peek() == '.';
      if (isDecimal) {
        at++;
        skipDigits();
      }
      int digits = at - start - (isDecimal ? 1 : 0);
      if (digits == 0 || digits > DIGITS_MAX) return null;
      boolean isDouble = peek() == 'e' || peek() == 'E';
      if (isDouble) {
        at++;
        if (peek() == '+' || peek() == '-') at++;
        if (skipDigits() == 0) return null;
      }
      String number = sign + text.substring(start, at);
      if (isDouble) return conf.exponentLiteralAsDecimalEnabled() ? null : ofDouble(number);
      return isDecimal ? literal(new BigDecimal(number)) : ofInteger(new BigDecimal(number));
    }

    private static Cell ofDouble(String number) {
      double value = Double.parseDouble(number);
      return Double.isInfinite(value) ? null : new Cell(value, DoubleType$.MODULE$);
    }

    private static Cell ofInteger(BigDecimal number) {
      if (number.compareTo(LONG_MIN) < 0 || number.compareTo(LONG_MAX) > 0) return null;
      long value = number.longValueExact();
      return value == (int) value
          ? new Cell((int) value, IntegerType$.MODULE$)
          : new Cell(value, LongType$.MODULE$);
    }

    private static Cell literal(Object value) {
      Literal literal = Literal$.MODULE$.apply(value);
      return new Cell(literal.value(), literal.dataType());
    }

    /** Returns the value for a marker. */
    private Cell marked(JsonNode parameter) {
      if (parameter.has("text") || parameter.has("row_value")) return null;
      DataType type = MARKED_TYPES.get(parameter.get("type").textValue().toUpperCase(Locale.ROOT));
      if (type == null) return null;
      String text = parameter.get("value").textValue();
      if (text == null) return new Cell(null, type);
      try {
        Object value = ScanFiles.parse(text, type, conf.sessionLocalTimeZone());
        // Spark writes other numbers as casts of strings, which may be null.
        boolean isFinite =
            !(value instanceof Float || value instanceof Double)
                || Double.isFinite(((Number) value).doubleValue());
        return isFinite ? new Cell(value, type) : null;
      } catch (RuntimeException failure) {
        return null; // Spark has the error
      }
    }

    private char peek() {
      return at < text.length() ? text.charAt(at) : '\0';
    }

    private boolean skip(char expected) {
      skipBlanks();
      if (peek() != expected) return false;
      at++;
      return true;
    }

    private boolean skipWord(String expected) {
      skipBlanks();
      return word().equalsIgnoreCase(expected);
    }

    private void skipBlanks() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private int skipDigits() {
      int start = at;
      while (isDigit(peek())) at++;
      return at - start;
    }

    private String word() {
      int start = at;
      while (isDigit(peek()) || isLetter(peek()) || peek() == '_') at++;
      return text.substring(start, at);
    }

    private static boolean isDigit(char sign) {
      return sign >= '0' && sign <= '9';
    }

    private static boolean isLetter(char sign) {
      return sign >= 'a' && sign <= 'z' || sign >= 'A' && sign <= 'Z';
    }
  }
}
