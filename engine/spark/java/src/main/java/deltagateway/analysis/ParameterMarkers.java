package deltagateway.analysis;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.UnsafeRowBytes;
import deltagateway.scan.ScanFiles;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NullType$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parses a text whose markers (`:name` or `?`) stand for values; each value is a text and the type
 * it is cast to, or a value of Spark's.
 */
public final class ParameterMarkers {
  private ParameterMarkers() {}

  public static LogicalPlan parse(
      SparkSession spark, String text, JsonNode parameters, String timeZone) throws Exception {
    ParserInterface parser = spark.sessionState().sqlParser();
    if (parameters.size() == 0) return parser.parsePlan(text);
    Map<String, Expression> named = new HashMap<>();
    ArrayList positional = new ArrayList<>();
    for (int i = 0; i < parameters.size(); i++) {
      JsonNode parameter = parameters.get(i);
      Literal literal = typed(literal(parser, parameter, timeZone));
      if (parameter.get("name").isNull()) positional.add(literal);
      else named.put(parameter.get("name").textValue(), literal);
    }
    if (positional.isEmpty()) {
      scala.collection.immutable.Map<String, Expression> map =
          scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(named));
      return parser.parsePlanWithParameters(text, new NamedParameterContext(map));
    }
    return parser.parsePlanWithParameters(
        text, new PositionalParameterContext(ScalaConversions.seq(positional)));
  }

  /**
   * Spark parses the text of a value, in which a decimal has as many digits as it needs: the text
   * says its type.
   */
  private static Literal typed(Literal literal) {
    if (!(literal.dataType() instanceof DecimalType) || literal.value() == null) return literal;
    return new TypedDecimal(literal);
  }

  private static Literal literal(ParserInterface parser, JsonNode parameter, String timeZone)
      throws Exception {
    if (parameter.has("text")) return new Text(parameter.get("text").textValue());
    if (parameter.has("row_value")) return UnsafeRowBytes.literal(parameter.get("row_value"));
    DataType type = parser.parseDataType(parameter.get("type").textValue());
    String value = parameter.get("value").textValue();
    return new Literal(value == null ? null : ScanFiles.parse(value, type, timeZone), type);
  }

  /** A value that Spark parses where the marker is, and of which it asks nothing else. */
  private static final class Text extends Literal {
    private final String text;

    Text(String text) {
      super(null, NullType$.MODULE$);
      this.text = text;
    }

    public String sql() {
      return text;
    }
  }

  private static final class TypedDecimal extends Literal {
    TypedDecimal(Literal literal) {
      super(literal.value(), literal.dataType());
    }

    public String sql() {
      return "CAST(" + super.sql() + " AS " + dataType().sql() + ")";
    }
  }
}
