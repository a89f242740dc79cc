package deltagateway.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import org.apache.spark.sql.catalyst.CatalystTypeConverters$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * Values that leave Spark and come back as they were: rows in Spark's own binary form, with their
 * type. No other form is exact for every type (NaN, a timestamp in another session zone, a variant,
 * an interval in an array).
 */
public final class UnsafeRowBytes {
  private UnsafeRowBytes() {}

  /** The type of the rows as JSON, and the rows; `bytesMax` bounds their bytes together. */
  public static void put(ObjectNode answer, StructType type, InternalRow[] rows, long bytesMax) {
    answer.put("row_type", type.json());
    ArrayNode texts = answer.putArray("rows");
    UnsafeProjection projection = UnsafeProjection$.MODULE$.create(type.asNullable());
    long total = 0;
    for (int i = 0; i < rows.length; i++) {
      byte[] bytes = projection.apply(rows[i]).getBytes();
      total += bytes.length;
      if (total > bytesMax)
        throw new RejectionException("result too large", Long.toString(bytesMax));
      texts.add(Base64.getEncoder().encodeToString(bytes));
    }
  }

  /** One column of such a row. */
  public static Literal literal(JsonNode value) {
    StructType type = (StructType) DataType$.MODULE$.fromJson(value.get("row_type").textValue());
    byte[] bytes = Base64.getDecoder().decode(value.get("row").textValue());
    int column = value.get("column").intValue();
    UnsafeRow row = new UnsafeRow(type.length());
    row.pointTo(bytes, bytes.length);
    DataType columnType = type.fields()[column].dataType();
    return new Literal(
        row.isNullAt(column) ? null : plain(row.get(column, columnType), columnType), columnType);
  }

  /**
   * Only arrays, maps and structs that are not in the binary form can be spelled as SQL, in names
   * and as parameters.
   */
  private static Object plain(Object value, DataType type) {
    boolean nested =
        type instanceof ArrayType || type instanceof MapType || type instanceof StructType;
    if (!nested) return value;
    Object external = CatalystTypeConverters$.MODULE$.createToScalaConverter(type).apply(value);
    return CatalystTypeConverters$.MODULE$.createToCatalystConverter(type).apply(external);
  }
}
