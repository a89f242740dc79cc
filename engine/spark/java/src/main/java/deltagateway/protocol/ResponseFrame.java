package deltagateway.protocol;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.analysis.CrossRowExpressions;
import deltagateway.analysis.SessionVariables;
import deltagateway.optimizer.FiredRules;
import deltagateway.result.ResultSpool;
import deltagateway.session.StepTimings;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The answer of a query in one array of bytes: the length of a JSON header (4 bytes, big-endian),
 * the header, and the record batch messages of a small result. The header has the columns (name,
 * Spark's type as JSON, its DDL spelling, comment), the session's time zone, and the segments: for
 * each partition the file that holds its messages (null: the body of this frame), offset and
 * length, how many rows are in all of them, whether the query gives them again ({@link
 * Volatility}), how long the steps took ({@link StepTimings}), and which rules changed the plan
 * ({@link FiredRules}); or, of columns alone, the traits ({@link CrossRowExpressions}) and the
 * variables that are read.
 */
public final class ResponseFrame {
  private ResponseFrame() {}

  public static byte[] ofColumns(LogicalPlan analyzed, String timeZone) throws Exception {
    ObjectNode header = header(analyzed.schema(), timeZone);
    header.set("traits", CrossRowExpressions.of(analyzed));
    header.set("variables", SessionVariables.readBy(analyzed));
    return frame(header, new byte[0]);
  }

  public static byte[] ofResult(
      StructType schema,
      String timeZone,
      ResultSpool spool,
      String repeatable,
      StepTimings steps,
      FiredRules rules)
      throws Exception {
    ObjectNode header = header(schema, timeZone);
    header.set("steps_us", steps.micros());
    header.set("rules", rules.json());
    header.put("rows", spool.rows());
    header.put("repeatable", repeatable);
    ArrayNode segments = header.putArray("segments");
    for (Iterator<ResultSpool.Segment> all = spool.segments().iterator(); all.hasNext(); ) {
      ResultSpool.Segment segment = all.next();
      String path = segment.path == null ? spool.spillPath() : segment.path;
      segments.addArray().add(path).add(segment.offset).add(segment.length);
    }
    return frame(header, spool.bytes());
  }

  public static ObjectNode header(StructType schema, String timeZone) throws Exception {
    ObjectNode header = StatementRequest.JSON.createObjectNode();
    header.put("time_zone", timeZone);
    ArrayNode columns = header.putArray("columns");
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      ObjectNode column = columns.addObject();
      column.put("name", fields[i].name());
      column.set("type", StatementRequest.JSON.readTree(fields[i].dataType().json()));
      column.put("ddl", declared(fields[i]).catalogString());
      scala.Option<String> comment = fields[i].getComment();
      column.put("comment", comment.isDefined() ? comment.get() : null);
    }
    return header;
  }

  /** char(n) and varchar(n) are strings to Spark; what was declared is in the metadata. */
  private static DataType declared(StructField field) {
    scala.Option<DataType> raw = CharVarcharUtils$.MODULE$.getRawType(field.metadata());
    return raw.isDefined() ? raw.get() : field.dataType();
  }

  private static byte[] frame(ObjectNode header, byte[] body) throws Exception {
    byte[] json = StatementRequest.JSON.writeValueAsBytes(header);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(4 + json.length + body.length);
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(json.length);
    out.write(json);
    out.write(body);
    return bytes.toByteArray();
  }
}
