package deltagateway.result;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.nio.file.Path;
import java.util.List;

/** Requests of queries with limits of their results. */
final class ResultRequests {
  private ResultRequests() {}

  static StatementRequest request(Path spool, long bytesMax, Long rowsWanted, Long bytesWanted)
      throws Exception {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("id", "statement-1").put("principal", "ann").put("instant_us", 0L).put("text", "");
    for (String name : List.of("scans", "views", "given", "hidden_relations", "parameters"))
      node.putArray(name);
    node.putObject("variables").putArray("session");
    node.withObject("variables").putArray("scopes");
    node.put("body_call", "").put("spool", spool.toString()).put("result_bytes_max", bytesMax);
    node.put("rows_wanted", rowsWanted).put("bytes_wanted", bytesWanted).putNull("pool");
    for (String name : List.of("announces_rows", "reports_lineage")) node.put(name, false);
    return new StatementRequest(node.toString());
  }
}
