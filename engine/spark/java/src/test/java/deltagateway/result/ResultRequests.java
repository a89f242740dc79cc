package deltagateway.result;

import deltagateway.TestRequests;
import deltagateway.protocol.StatementRequest;
import java.nio.file.Path;

/** Requests of queries with limits of their results. */
final class ResultRequests {
  private ResultRequests() {}

  static StatementRequest request(Path spool, long bytesMax, Long rowsWanted, Long bytesWanted)
      throws Exception {
    return new StatementRequest(
        TestRequests.statement("statement-1", "SELECT 1")
            .put("spool", spool.toString())
            .put("result_bytes_max", bytesMax)
            .put("rows_wanted", rowsWanted)
            .put("bytes_wanted", bytesWanted)
            .toString());
  }
}
