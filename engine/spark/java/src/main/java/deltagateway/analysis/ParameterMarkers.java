package deltagateway.analysis;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.UnsafeRowBytes;
import deltagateway.scan.ScanFiles;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NullType$;

/**
 * Parser of a statement's text in which markers (`:name` or `?`) stand for values. A value is a SQL
 * text, a text and the type that it is cast to, or a column of a row of Spark's.
 */
public final class ParameterMarkers {
  private ParameterMarkers() {}

  public static LogicalPlan parse(
      SparkSession spark, String text, JsonNode parameters, String timeZone) throws Exception {
    ParserInterface parser = spark.sessionState().sqlParser();
    if (parameters.isEmpty()) return parser.parsePlan(text);
    Map<String, Expression> named = new HashMap<>();
    List<Expression> positional = new ArrayList<>();
    for (JsonNode parameter : parameters) {
      Literal literal = literal(parser, parameter, timeZone);
      boolean isDecimal = literal.dataType() instanceof DecimalType && literal.value() != null;
      Literal value = isDecimal ? new TypedDecimal(literal) : literal;
      if (parameter.get("name").isNull()) positional.add(value);
      else named.put(parameter.get("name").textValue(), value);
    }
    ParameterContext values =
        positional.isEmpty()
            ? new NamedParameterContext(ScalaConversions.map(named))
            : new PositionalParameterContext(ScalaConversions.seq(positional));
    return parser.parsePlanWithParameters(text, values);
  }

  private static Literal literal(ParserInterface parser, JsonNode parameter, String timeZone)
      throws Exception {
    if (parameter.has("text")) return new SqlText(parameter.get("text").textValue());
    if (parameter.has("row_value")) return UnsafeRowBytes.literal(parameter.get("row_value"));
    DataType type = parser.parseDataType(parameter.get("type").textValue());
    String value = parameter.get("value").textValue();
    return new Literal(value == null ? null : ScanFiles.parse(value, type, timeZone), type);
  }

  /** SQL that Spark parses in place of the marker; Spark takes nothing else from the literal. */
  private static final class SqlText extends Literal {
    private static final long serialVersionUID = 1;

    private final String text;

    SqlText(String text) {
      super(null, NullType$.MODULE$);
      this.text = text;
    }

    @Override
    public String sql() {
      return text;
    }
  }

  /**
   * A decimal with its type: Spark parses the text of a value, in which a decimal has as many
   * digits as it needs.
   */
  private static final class TypedDecimal extends Literal {
    private static final long serialVersionUID = 1;

    TypedDecimal(Literal literal) {
      super(literal.value(), literal.dataType());
    }

    @Override
    public String sql() {
      return "CAST(" + super.sql() + " AS " + dataType().sql() + ")";
    }
  }
}
