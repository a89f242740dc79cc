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
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.types.StructType;

/**
 * Tells Python where the first rows of a running query are (engine/spark/streaming_result.py says
 * what goes over the wire). The connection is made for the first ones, or for the columns alone if
 * the query takes longer: some clients read them before its end. Where it fails nothing more is
 * told: the answer of the query has all rows anyway.
 */
public final class FirstRowsNotifier {
  /** What a segment has to grow by before that is told, but for its first rows. */
  private static final long GROWTH_MIN = 1 << 20;

  /** The age of a query, in milliseconds, at which its columns are announced without rows. */
  private static final long COLUMNS_AFTER_MS = 200;

  private static final ScheduledThreadPoolExecutor LATER = later();

  private final PythonCallbacks questions;
  private final String statement;
  private final StructType schema;
  private final String timeZone;
  private final Future columns;
  private Socket socket;
  private boolean ended;

  /** The last segment, and how much of it Python knows. */
  private ResultSpool.Segment last;

  private long told;

  public FirstRowsNotifier(
      PythonCallbacks questions, String statement, StructType schema, String timeZone) {
    this.questions = questions;
    this.statement = statement;
    this.schema = schema;
    this.timeZone = timeZone;
    columns =
        LATER.schedule(
            new Runnable() {
              public void run() {
                columns();
              }
            },
            COLUMNS_AFTER_MS,
            TimeUnit.MILLISECONDS);
  }

  private static ScheduledThreadPoolExecutor later() {
    ScheduledThreadPoolExecutor later =
        new ScheduledThreadPoolExecutor(
            1,
            new ThreadFactory() {
              public Thread newThread(Runnable work) {
                Thread thread = new Thread(work, "announced-columns");
                thread.setDaemon(true);
                return thread;
              }
            });
    later.setRemoveOnCancelPolicy(true);
    return later;
  }

  /** Announces the columns, unless rows were announced. */
  synchronized void columns() {
    if (ended) return;
    try {
      connect();
    } catch (Exception failure) {
      close();
    }
  }

  private void connect() throws Exception {
    if (socket != null) return;
    ObjectNode question = StatementRequest.JSON.createObjectNode();
    question.put("statement", statement);
    question.set("result", ResponseFrame.header(schema, timeZone));
    socket = questions.send(question);
  }

  /** The last segment has grown to this, or this one follows it. */
  synchronized void rows(ResultSpool.Segment segment) {
    boolean isSame =
        last != null && last.path.equals(segment.path) && last.offset == segment.offset;
    if (last != null && !isSame) {
      tell(last); // whose end came with too little to be told
      told = 0;
    }
    last = segment;
    if (!isSame || segment.length >= told + GROWTH_MIN) tell(segment);
  }

  private void tell(ResultSpool.Segment segment) {
    if (ended || segment.length == told) return;
    try {
      connect();
      ArrayNode piece =
          StatementRequest.JSON
              .createArrayNode()
              .add(segment.path)
              .add(segment.offset)
              .add(segment.length);
      socket
          .getOutputStream()
          .write(
              (StatementRequest.JSON.writeValueAsString(piece) + "\n")
                  .getBytes(StandardCharsets.UTF_8));
      told = segment.length;
    } catch (Exception failure) {
      close();
    }
  }

  synchronized void close() {
    ended = true;
    columns.cancel(false);
    try {
      if (socket != null) socket.close();
    } catch (IOException failure) {
      // there is nothing more to tell
    }
  }
}
