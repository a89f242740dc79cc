package deltagateway.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.scan.ComputedColumns;
import deltagateway.scan.TableScan;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Filters as JSON for `engine/spark/filters.py`: each node an array of its kind and its parts, null
 * for whatever is not among these kinds. Types go by the names of the log, dates and timestamps as
 * numbers, as Spark holds them.
 */
public final class FilterJson {
  private final ComputedColumns shown;

  /** `shown` are columns that are made of others; null: none. */
  public FilterJson(ComputedColumns shown) {
    this.shown = shown;
  }

  /**
   * In an order of their own, without those of which nothing is said: the same filters are the same
   * question.
   */
  public ArrayNode of(
      scala.collection.immutable.Seq<Expression> partitionFilters,
      scala.collection.immutable.Seq<Expression> dataFilters) {
    Map<String, JsonNode> trees = new TreeMap<>();
    addAll(trees, partitionFilters);
    addAll(trees, dataFilters);
    return StatementRequest.JSON.createArrayNode().addAll(trees.values());
  }

  private void addAll(
      Map<String, JsonNode> trees, scala.collection.immutable.Seq<Expression> filters) {
    List<Expression> expressions = ScalaConversions.list(filters);
    for (int i = 0; i < expressions.size(); i++) {
      if (TableScan.isLive(expressions.get(i))) continue;
      JsonNode node = node(expressions.get(i));
      if (!node.isNull()) trees.put(node.toString(), node);
    }
  }

  private JsonNode node(Expression expression) {
    String made = shown == null ? null : shown.name(expression);
    if (made != null) return StatementRequest.JSON.createArrayNode().add("column").add(made);
    if (expression instanceof AttributeReference || expression instanceof GetStructField)
      return column(expression);
    if (expression instanceof Literal)
      return literal(((Literal) expression).value(), expression.dataType());
    if (expression instanceof Cast) {
      return unary("cast", ((Cast) expression).child()).add(expression.dataType().typeName());
    }
    if (expression instanceof KnownNotNull)
      return node(((KnownNotNull) expression).child()); // see MixedPartitionFilters
    if (expression instanceof InSet) return in((InSet) expression);
    String kind = kind(expression);
    if (kind == null) return StatementRequest.JSON.nullNode();
    ArrayNode node = StatementRequest.JSON.createArrayNode().add(kind);
    List<Expression> children = ScalaConversions.list(expression.children());
    for (int i = 0; i < children.size(); i++) node.add(node(children.get(i)));
    return node;
  }

  private static String kind(Expression expression) {
    if (expression instanceof And) return "and";
    if (expression instanceof Or) return "or";
    if (expression instanceof Not) return "not";
    if (expression instanceof EqualTo) return "=";
    if (expression instanceof EqualNullSafe) return "<=>";
    if (expression instanceof LessThan) return "<";
    if (expression instanceof LessThanOrEqual) return "<=";
    if (expression instanceof GreaterThan) return ">";
    if (expression instanceof GreaterThanOrEqual) return ">=";
    if (expression instanceof In) return "in";
    if (expression instanceof StartsWith) return "starts with";
    if (expression instanceof IsNull) return "is null";
    if (expression instanceof IsNotNull) return "is not null";
    return null;
  }

  private ArrayNode unary(String kind, Expression child) {
    return StatementRequest.JSON.createArrayNode().add(kind).add(node(child));
  }

  /** The path of a column, or null where a field is taken from something else. */
  private static JsonNode column(Expression expression) {
    if (expression instanceof AttributeReference) {
      if (isMetadata((AttributeReference) expression)) return StatementRequest.JSON.nullNode();
      return StatementRequest.JSON
          .createArrayNode()
          .add("column")
          .add(((AttributeReference) expression).name());
    }
    GetStructField field = (GetStructField) expression;
    boolean hasPath =
        field.child() instanceof AttributeReference || field.child() instanceof GetStructField;
    JsonNode parent = hasPath ? column(field.child()) : StatementRequest.JSON.nullNode();
    return parent.isNull() ? parent : ((ArrayNode) parent).add(field.extractFieldName());
  }

  /**
   * Is it a field of `_metadata`? Spark plans with each by itself, under a name that a column may
   * have too.
   */
  static boolean isMetadata(AttributeReference attribute) {
    return FileSourceMetadataAttribute$.MODULE$.isValid(attribute.metadata());
  }

  private JsonNode in(InSet expression) {
    ArrayNode node = unary("in", expression.child());
    DataType type = expression.child().dataType();
    for (scala.collection.Iterator<Object> values = expression.hset().iterator();
        values.hasNext(); ) {
      node.add(literal(values.next(), type));
    }
    return node;
  }

  private static JsonNode literal(Object value, DataType type) {
    ArrayNode node = StatementRequest.JSON.createArrayNode().add("literal").add(type.typeName());
    if (value == null) return node.addNull();
    if (value instanceof Boolean) return node.add((Boolean) value);
    if (value instanceof Float || value instanceof Double) {
      return node.add(Double.toString(((Number) value).doubleValue()));
    }
    if (value instanceof Number) return node.add(((Number) value).longValue());
    if (value instanceof Decimal)
      return node.add(((Decimal) value).toJavaBigDecimal().toPlainString());
    if (value instanceof byte[])
      return node.add(Base64.getEncoder().encodeToString((byte[]) value));
    if (value instanceof UTF8String) {
      String text = value.toString();
      if (UTF8String.fromString(text).equals(value))
        return node.add(text); // else it is no text, and not to be said
    }
    return StatementRequest.JSON.nullNode();
  }
}
