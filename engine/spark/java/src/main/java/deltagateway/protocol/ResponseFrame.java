package deltagateway.protocol;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.analysis.CrossRowExpressions;
import deltagateway.analysis.SessionVariables;
import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.FiredRules;
import deltagateway.result.ResultSpool;
import deltagateway.session.StepTimings;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Response of a query in one array of bytes: the length of a JSON header (4 bytes, big-endian), the
 * header, and the record batch messages of a small result. The header has the columns (name,
 * Spark's type as JSON, its DDL spelling, comment), the session's time zone, and the segments: for
 * each partition the file that has its messages (null: the body of this frame), offset and length.
 * It also has the number of rows, the volatility ({@link Volatility}), the durations of the steps
 * ({@link StepTimings}) and the rules that changed the plan ({@link FiredRules}); or, for columns
 * alone, the cross-row expressions ({@link CrossRowExpressions}) and the variables that are read.
 */
public final class ResponseFrame {
  private ResponseFrame() {}

  public static byte[] ofColumns(LogicalPlan analyzed, String timeZone) throws IOException {
    ObjectNode header = header(analyzed.schema(), timeZone);
    header.set("traits", CrossRowExpressions.of(analyzed));
    header.set("variables", SessionVariables.readBy(analyzed));
    return frame(header, new byte[0]);
  }

  public static byte[] ofResult(
      StructType schema,
      String timeZone,
      ResultSpool spool,
      String volatility,
      StepTimings steps,
      FiredRules rules)
      throws IOException {
    ObjectNode header = header(schema, timeZone);
    header.set("steps_us", steps.micros());
    header.set("rules", rules.json());
    header.put("rows", spool.rows());
    header.put("repeatable", volatility);
    ArrayNode segments = header.putArray("segments");
    for (ResultSpool.Segment segment : spool.segments()) {
      String path = segment.path == null ? spool.spillPath() : segment.path;
      segments.addArray().add(path).add(segment.offset).add(segment.length);
    }
    return frame(header, spool.bytes());
  }

  public static ObjectNode header(StructType schema, String timeZone) throws IOException {
    ObjectNode header = StatementRequest.JSON.createObjectNode();
    header.put("time_zone", timeZone);
    ArrayNode columns = header.putArray("columns");
    for (StructField field : schema.fields()) {
      ObjectNode column = columns.addObject();
      column.put("name", field.name());
      column.set("type", StatementRequest.JSON.readTree(field.dataType().json()));
      column.put("ddl", declaredType(field).catalogString());
      column.put("nullable", field.nullable());
      column.put("comment", ScalaConversions.orNull(field.getComment()));
      column.set("metadata", StatementRequest.JSON.readTree(field.metadata().json()));
    }
    return header;
  }

  /** Returns char(n) and varchar(n), which Spark stores in the metadata of strings. */
  private static DataType declaredType(StructField field) {
    DataType declared =
        ScalaConversions.orNull(CharVarcharUtils$.MODULE$.getRawType(field.metadata()));
    return declared == null ? field.dataType() : declared;
  }

  private static byte[] frame(ObjectNode header, byte[] body) throws IOException {
    byte[] json = StatementRequest.JSON.writeValueAsBytes(header);
    return ByteBuffer.allocate(Integer.BYTES + json.length + body.length)
        .putInt(json.length)
        .put(json)
        .put(body)
        .array();
  }
}
