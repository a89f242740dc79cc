package deltagateway.protocol;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * JSON of filters for `engine/spark/filters.py`: each node is an array of its kind and its parts,
 * and null if its kind is unknown. Types have the names of the Delta protocol; dates and timestamps
 * are numbers, as in Spark's rows.
 */
public final class FilterJson {
  private final ComputedColumns computed;

  /** `computed` are columns that are computed from others; null: none. */
  public FilterJson(ComputedColumns computed) {
    this.computed = computed;
  }

  /** Returns the known filters, sorted, so that the same filters have the same JSON. */
  public ArrayNode of(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    Map<String, JsonNode> trees = new TreeMap<>();
    for (Seq<Expression> filters : List.of(partitionFilters, dataFilters)) {
      for (Expression filter : list(filters)) {
        if (TableScan.isLive(filter)) continue;
        JsonNode node = node(filter);
        if (!node.isNull()) trees.put(node.toString(), node);
      }
    }
    return StatementRequest.JSON.createArrayNode().addAll(trees.values());
  }

  private JsonNode node(Expression expression) {
    String name = computed == null ? null : computed.name(expression);
    if (name != null) return array("column").add(name);
    if (expression instanceof AttributeReference || expression instanceof GetStructField)
      return column(expression);
    if (expression instanceof Literal literal) return literal(literal.value(), literal.dataType());
    if (expression instanceof Cast cast)
      return array("cast").add(node(cast.child())).add(cast.dataType().typeName());
    // MixedPartitionFilters wraps filters in it.
    if (expression instanceof KnownNotNull known) return node(known.child());
    if (expression instanceof InSet in) return inSet(in);
    String kind = kind(expression);
    if (kind == null) return StatementRequest.JSON.nullNode();
    ArrayNode node = array(kind);
    for (Expression child : list(expression.children())) node.add(node(child));
    return node;
  }

  private static ArrayNode array(String kind) {
    return StatementRequest.JSON.createArrayNode().add(kind);
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

  /** Returns the path of a column; null if a field is taken from another expression. */
  private static JsonNode column(Expression expression) {
    if (expression instanceof AttributeReference column && !isMetadata(column))
      return array("column").add(column.name());
    return expression instanceof GetStructField field
            && column(field.child()) instanceof ArrayNode path
        ? path.add(field.extractFieldName())
        : StatementRequest.JSON.nullNode();
  }

  /** Returns true for a field of `_metadata`, whose name a column may have too. */
  private static boolean isMetadata(AttributeReference attribute) {
    return FileSourceMetadataAttribute$.MODULE$.isValid(attribute.metadata());
  }

  private JsonNode inSet(InSet in) {
    ArrayNode node = array("in").add(node(in.child()));
    DataType type = in.child().dataType();
    for (Object value : CollectionConverters.asJava(in.hset())) node.add(literal(value, type));
    return node;
  }

  private static JsonNode literal(Object value, DataType type) {
    ArrayNode node = array("literal").add(type.typeName());
    if (value == null) return node.addNull();
    if (value instanceof Boolean bool) return node.add(bool);
    if (value instanceof Float || value instanceof Double)
      return node.add(Double.toString(((Number) value).doubleValue()));
    if (value instanceof Number number) return node.add(number.longValue());
    if (value instanceof Decimal decimal)
      return node.add(decimal.toJavaBigDecimal().toPlainString());
    if (value instanceof byte[] bytes) return node.add(Base64.getEncoder().encodeToString(bytes));
    // Bytes that are not UTF-8 cannot be in JSON.
    if (value instanceof UTF8String string
        && UTF8String.fromString(string.toString()).equals(string))
      return node.add(string.toString());
    return StatementRequest.JSON.nullNode();
  }
}
