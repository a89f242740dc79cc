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
 * Values that leave Spark and return unchanged: rows in Spark's own binary form, with their type.
 * No other form is exact for every type (NaN, a timestamp in another session time zone, a variant,
 * an interval in an array).
 */
public final class UnsafeRowBytes {
  private UnsafeRowBytes() {}

  /** Adds the type of the rows as JSON, and the rows; `bytesMax` limits their total size. */
  public static void put(ObjectNode answer, StructType type, InternalRow[] rows, long bytesMax) {
    answer.put("row_type", type.json());
    ArrayNode texts = answer.putArray("rows");
    UnsafeProjection projection = UnsafeProjection$.MODULE$.create(type.asNullable());
    long total = 0;
    for (InternalRow row : rows) {
      byte[] bytes = projection.apply(row).getBytes();
      total += bytes.length;
      if (total > bytesMax)
        throw new RejectionException("result too large", Long.toString(bytesMax));
      texts.add(Base64.getEncoder().encodeToString(bytes));
    }
  }

  /** Returns one column of such a row. */
  public static Literal literal(JsonNode value) {
    Schema.ROW_VALUE.check(value);
    StructType type = (StructType) DataType$.MODULE$.fromJson(value.get("row_type").textValue());
    byte[] bytes = Base64.getDecoder().decode(value.get("row").textValue());
    int column = value.get("column").intValue();
    UnsafeRow row = new UnsafeRow(type.length());
    row.pointTo(bytes, bytes.length);
    DataType columnType = type.fields()[column].dataType();
    Object item = row.isNullAt(column) ? null : row.get(column, columnType);
    return new Literal(item == null ? null : withoutBinaryForm(item, columnType), columnType);
  }

  /**
   * Converts arrays, maps and structs: Spark writes them as SQL, in names and as parameters, only
   * if they do not have the binary form.
   */
  private static Object withoutBinaryForm(Object value, DataType type) {
    boolean isNested =
        type instanceof ArrayType || type instanceof MapType || type instanceof StructType;
    if (!isNested) return value;
    Object external = CatalystTypeConverters$.MODULE$.createToScalaConverter(type).apply(value);
    return CatalystTypeConverters$.MODULE$.createToCatalystConverter(type).apply(external);
  }
}
