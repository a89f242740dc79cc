package deltagateway;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.TableScan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;

/** Requests as Python sends them, with a value for each field. */
public final class TestRequests {
  private TestRequests() {}

  /** Returns the request of a query without relations. */
  public static ObjectNode statement(String id, String text) {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("id", id).put("principal", "ann").put("instant_us", 1_500_000L).put("text", text);
    for (String name : TestSpark.words("scans views given hidden_relations parameters"))
      node.putArray(name);
    ObjectNode variables = node.putObject("variables");
    variables.putArray("session");
    variables.putArray("scopes");
    node.put("body_call", "__body_1").put("spool", "/no/such/folder");
    node.put("result_bytes_max", 1 << 20).putNull("rows_wanted").putNull("bytes_wanted");
    node.putNull("pool").put("announces_rows", false).put("reports_lineage", false);
    return node;
  }

  public static ObjectNode view(String relation, String text) {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("relation", relation).put("label", "main." + relation).put("text", text);
    node.putArray("columns");
    node.put("temporary", false).put("is_barrier", false).put("is_hidden", false);
    node.put("hides_places", false).putNull("settings").putArray("unlisted_columns");
    node.put("schema_mode", "TYPE EVOLUTION").putNull("frame").putArray("parameters");
    return node;
  }

  /** Returns the request of a scan of a table in the folder `/t`; `columns` are DDL. */
  public static ObjectNode scan(String relation, String columns) {
    String schema = StructType.fromDDL(columns).json();
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("relation", relation).put("metadata", "_metadata").put("root", "/t");
    node.put("shown_root", "").put("accepts_hard_links", false).putNull("lease");
    node.put("source", 0).put("hidden", false).put("bytes", 10).put("by_id", false);
    node.put("schema", schema).put("read", schema).put("physical", schema);
    for (String name :
        TestSpark.words("path_columns allowed_roots excluded_roots partition_columns"))
      node.putArray(name);
    node.putObject("shown");
    node.putObject("vectors");
    node.putNull("row_tracking").putNull("format");
    return node;
  }

  /** Returns the leaf of a scan. Its files cannot be listed. */
  public static LogicalPlan relation(String statementId, ObjectNode scan) {
    StatementRequest.Scan parsed = new StatementRequest.Scan(scan);
    FileListing listing = new FileListing(null, statementId, 0, parsed.constants, "UTC");
    return new TableScan(TestSpark.SPARK, new PrunedFileIndex(statementId, parsed, listing))
        .relation();
  }
}
