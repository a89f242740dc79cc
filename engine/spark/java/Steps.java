package deltagateway;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** How long each step of a statement took in Spark, in the order in which they were first taken. */
final class Steps {
  private static final long NANOS_PER_MICRO = 1000;

  private final ObjectNode micros = Request.JSON.createObjectNode();
  private long since = System.nanoTime();

  /** All since the step before belongs to this one. */
  void end(String step) {
    long now = System.nanoTime();
    micros.put(step, micros.path(step).asLong() + (now - since) / NANOS_PER_MICRO);
    since = now;
  }

  ObjectNode micros() {
    return micros;
  }
}
