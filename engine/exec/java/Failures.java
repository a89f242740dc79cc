package deltagateway;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;

/** Reads in one call what Python needs to know of an exception. */
public final class Failures {
  private Failures() {}

  /** JSON: class, message, and for Spark's own errors condition, sqlstate and fragment (the text at fault). */
  public static String describe(Throwable failure) throws Exception {
    ObjectNode node = Request.JSON.createObjectNode();
    Throwable root = failure;
    for (int depth = 0; depth < 50 && root != null; depth++) {
      if (root instanceof Refusal) {
        node.put("refusal", ((Refusal) root).kind());
        node.put("subject", ((Refusal) root).subject());
        return Request.JSON.writeValueAsString(node);
      }
      if (root instanceof SparkThrowable && ((SparkThrowable) root).getCondition() != null) break;
      root = root.getCause();
    }
    Throwable shown = root == null ? failure : root;
    node.put("class", shown.getClass().getName());
    node.put("message", String.valueOf(shown.getMessage()));
    if (shown instanceof SparkThrowable) describe((SparkThrowable) shown, node);
    return Request.JSON.writeValueAsString(node);
  }

  private static void describe(SparkThrowable failure, ObjectNode node) {
    node.put("condition", failure.getCondition());
    node.put("sqlstate", failure.getSqlState());
    QueryContext[] contexts = failure.getQueryContext();
    if (contexts != null && contexts.length > 0) {
      try {
        node.put("fragment", contexts[0].fragment());
      } catch (RuntimeException notOfText) {
        node.putNull("fragment");
      }
    }
  }
}
