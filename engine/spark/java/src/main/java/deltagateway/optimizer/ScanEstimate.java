package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * Statistics that the log has for the files of a scan that remain after pruning: their number and
 * bytes, their live rows (null: unknown), the path of the largest file (null: unknown), and for
 * requested columns null count, minimum, maximum and distinct count, if known. Other writers wrote
 * the log, so they may be wrong: they decide how a query runs, never what it returns.
 */
public final class ScanEstimate {
  public final long files;
  public final long bytes;
  final Long rows;
  final JsonNode columns;
  final String largest;

  public ScanEstimate(JsonNode node) {
    files = node.get("files").longValue();
    bytes = node.get("bytes").longValue();
    rows = node.get("rows").isNull() ? null : node.get("rows").longValue();
    columns = node.get("columns");
    largest = node.get("largest").textValue();
  }
}
