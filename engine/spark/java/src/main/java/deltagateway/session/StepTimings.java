package deltagateway.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;

/** Durations of a statement's steps in Spark, in the order in which they first ended. */
public final class StepTimings {
  private static final long NANOS_PER_MICRO = 1000;

  private final ObjectNode micros = StatementRequest.JSON.createObjectNode();
  private long since = System.nanoTime();

  /** Adds the time since the end of the previous step to this one. */
  void end(String step) {
    long now = System.nanoTime();
    micros.put(step, micros.path(step).asLong() + (now - since) / NANOS_PER_MICRO);
    since = now;
  }

  public ObjectNode micros() {
    return micros;
  }
}
