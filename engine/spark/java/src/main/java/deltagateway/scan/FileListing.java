package deltagateway.scan;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.ScanEstimate;
import deltagateway.protocol.FilterJson;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Lists the files of one scan when Spark plans it with its filters. Python prunes the files by
 * partition values and statistics and returns the others. Each list is requested once, however
 * often Spark plans.
 */
public final class FileListing {
  private final PythonCallbacks callbacks;
  private final String statementId;
  private final int scan;
  private final StructType constants;
  private final String timeZone;

  /** Answers by their requests. */
  private final Map<String, Answer> answers = new LinkedHashMap<>();

  private final Map<String, ScanEstimate> estimates = new HashMap<>();

  /** The number of rows that suffice, whichever these are; 0 for all. */
  private long rowsWanted;

  private boolean leavesOut;
  private ComputedColumns computedColumns;

  /** A request has the statement, the scan, filters and the time zone. */
  public FileListing(
      PythonCallbacks callbacks,
      String statementId,
      int scan,
      StructType constants,
      String timeZone) {
    this.callbacks = callbacks;
    this.statementId = statementId;
    this.scan = scan;
    this.constants = constants;
    this.timeZone = timeZone;
  }

  /** Sets the scan's computed columns, before the first list. */
  public void show(ComputedColumns columns) {
    computedColumns = columns;
  }

  /** Limits later lists to files with so many rows that match the filters; 0 for all. */
  public synchronized void want(long rows) {
    rowsWanted = rows;
    leavesOut = false;
  }

  /** Returns whether a limited list left out files that may have matching rows. */
  public synchronized boolean leavesOut() {
    return leavesOut;
  }

  /** Returns the files that may have rows that match the filters. */
  synchronized ScanFiles list(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    ObjectNode request = request(partitionFilters, dataFilters);
    if (rowsWanted > 0) request.put("rows", rowsWanted);
    ScanFiles files =
        answers.computeIfAbsent(
                request.toString(),
                key -> new Answer(partitionFilters, dataFilters, files(request)))
            .files;
    leavesOut |= files.isPart();
    return files;
  }

  /** Returns all lists so far. */
  public synchronized List<Answer> answers() {
    return List.copyOf(answers.values());
  }

  /** Returns whether the answers of another listing hold for this one. */
  public boolean hasSame(List<Answer> others) {
    return others.stream()
        .allMatch(other -> list(other.partitionFilters, other.dataFilters).isSame(other.files));
  }

  /**
   * Returns an estimate for the files that match the filters, with statistics of the columns. It
   * does not count as a read of the files.
   */
  public synchronized ScanEstimate estimate(Seq<Expression> filters, Collection<String> columns) {
    ObjectNode request = request(filters, ScalaConversions.emptySeq());
    ArrayNode names = request.putArray("estimate");
    new TreeSet<>(columns).forEach(names::add);
    return estimates.computeIfAbsent(request.toString(), key -> estimate(request));
  }

  private ScanEstimate estimate(ObjectNode request) {
    try {
      return new ScanEstimate(callbacks.value(request));
    } catch (IOException failure) {
      throw new IllegalStateException("no estimate", failure);
    }
  }

  private ObjectNode request(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    ObjectNode request = StatementRequest.JSON.createObjectNode();
    request.put("statement", statementId).put("scan", scan).put("zone", timeZone);
    request.set("filters", new FilterJson(computedColumns).of(partitionFilters, dataFilters));
    return request;
  }

  private ScanFiles files(ObjectNode request) {
    try {
      return callbacks.files(request, constants, timeZone);
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException("no list of files", failure);
    }
  }

  /** Files that were listed for filters. */
  public record Answer(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters, ScanFiles files) {}
}
