package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * What the log says of the files of a scan that filters leave: their number and bytes, their live
 * rows (null: unknown), and of columns that were asked for the nulls, the lowest and the highest
 * value and how many differ, as far as they are known; and the path of the largest file (null:
 * unknown). It need not be true: other writers wrote it. So it decides how a query runs, and never
 * what it answers.
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
    rows = node.get("rows").isNull() ? null : Long.valueOf(node.get("rows").longValue());
    columns = node.get("columns");
    largest = node.get("largest").textValue();
  }
}
