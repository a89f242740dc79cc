package deltagateway.result;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.ResponseFrame;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.types.StructType;

/**
 * Announces the first rows of a running query to Python (engine/spark/streaming_result.py defines
 * the messages). Connects for the first rows, or for the columns alone if the query takes longer:
 * some clients read them before its end. After a failure nothing more is announced, since the
 * response of the query has all rows.
 */
public final class FirstRowsNotifier {
  /** Bytes by which a segment grows before that is announced, except for its first rows. */
  private static final long GROWTH_BYTES_MIN = 1 << 20;

  /** The age of a query at which its columns are announced without rows. */
  private static final long COLUMNS_AFTER_MS = 200;

  private static final ScheduledThreadPoolExecutor SCHEDULER = scheduler();

  private final PythonCallbacks callbacks;
  private final String statement;
  private final StructType schema;
  private final String timeZone;
  private final Future<?> columns;
  private Socket socket;
  private boolean isClosed;

  /** The last segment, and how many bytes of it were announced. */
  private ResultSpool.Segment last;

  private long announced;

  public FirstRowsNotifier(
      PythonCallbacks callbacks, String statement, StructType schema, String timeZone) {
    this.callbacks = callbacks;
    this.statement = statement;
    this.schema = schema;
    this.timeZone = timeZone;
    columns = SCHEDULER.schedule(this::columns, COLUMNS_AFTER_MS, TimeUnit.MILLISECONDS);
  }

  private static ScheduledThreadPoolExecutor scheduler() {
    ScheduledThreadPoolExecutor scheduler =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "announced-columns");
              thread.setDaemon(true);
              return thread;
            });
    scheduler.setRemoveOnCancelPolicy(true);
    return scheduler;
  }

  /** Announces the columns, unless rows were announced. */
  private synchronized void columns() {
    if (isClosed) return;
    try {
      connect();
    } catch (Exception failure) {
      close();
    }
  }

  private void connect() throws Exception {
    if (socket != null) return;
    ObjectNode request = StatementRequest.JSON.createObjectNode();
    request.put("statement", statement);
    request.set("result", ResponseFrame.header(schema, timeZone));
    socket = callbacks.send(request);
  }

  /** Announces a segment that has grown, or that follows the last one. */
  synchronized void rows(ResultSpool.Segment segment) {
    boolean isSame =
        last != null && last.path.equals(segment.path) && last.offset == segment.offset;
    if (last != null && !isSame) {
      announce(last); // its end, which was too small
      announced = 0;
    }
    last = segment;
    if (!isSame || segment.length >= announced + GROWTH_BYTES_MIN) announce(segment);
  }

  private void announce(ResultSpool.Segment segment) {
    if (isClosed || segment.length == announced) return;
    try {
      connect();
      ArrayNode piece =
          StatementRequest.JSON
              .createArrayNode()
              .add(segment.path)
              .add(segment.offset)
              .add(segment.length);
      String line = StatementRequest.JSON.writeValueAsString(piece) + "\n";
      socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
      announced = segment.length;
    } catch (Exception failure) {
      close();
    }
  }

  synchronized void close() {
    isClosed = true;
    columns.cancel(false);
    try {
      if (socket != null) socket.close();
    } catch (IOException failure) {
      // All announcements were sent before.
    }
  }
}
