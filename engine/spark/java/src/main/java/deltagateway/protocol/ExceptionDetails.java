package deltagateway.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.write.StoreAssignment;
import java.io.EOFException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.hadoop.hdfs.BlockMissingException;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.ExtendedAnalysisException;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.SQLQueryContext;

/** Reads in one call what Python needs to know of an exception. */
public final class ExceptionDetails {
  private static final Set<String> UNGROUPED = Set.of("MISSING_GROUP_BY", "MISSING_AGGREGATION");

  /**
   * Packages of stores' connectors and of their clients, which are on no class path that this is
   * compiled with.
   */
  private static final String[] CONNECTORS = {
    "org.apache.hadoop.fs.s3a.", "org.apache.hadoop.fs.azurebfs.", "com.google.cloud.",
        "com.google.api.",
    "software.amazon.awssdk.", "com.azure.", "com.microsoft.azure.", "org.apache.http."
  };

  /** The connector's exceptions about files that are shorter than expected, or others by now. */
  private static final Set<String> OF_FILES =
      Set.of(
          "org.apache.hadoop.fs.s3a.RangeNotSatisfiableEOFException",
          "org.apache.hadoop.fs.s3a.RemoteFileChangedException");

  private ExceptionDetails() {}

  /**
   * JSON: whether Spark is stopped, class, message, the innermost cause's message, whether memory
   * ran out anywhere, whether a store failed, and for Spark's own errors condition, sqlstate, path
   * and fragment (the text at fault), or the column of a table that a value was for.
   */
  public static String describe(Throwable failure) throws Exception {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("stopped", SparkContext$.MODULE$.getActive().isEmpty());
    Throwable shown = null;
    Throwable innermost = failure;
    boolean outOfMemory = isOutOfMemory(failure);
    for (Throwable cause = failure; cause != null; cause = causeOf(cause)) {
      innermost = cause;
      if (cause instanceof RejectionException) return refusal((RejectionException) cause, node);
      if ((shown == null || isWrapper(shown)) && hasCondition(cause)) shown = cause;
    }
    if (shown == null) {
      shown = innermost;
      // Arrow's own exception does not travel from a task, only its text
      outOfMemory |=
          String.valueOf(innermost.getMessage()).contains(OutOfMemoryException.class.getName());
    }
    node.put("class", shown.getClass().getName());
    node.put("message", String.valueOf(shown.getMessage()));
    node.put("cause", String.valueOf(innermost.getMessage()));
    node.put("out_of_memory", outOfMemory);
    node.put("of_storage", isOfStorage(failure));
    if (shown instanceof SparkThrowable) describe((SparkThrowable) shown, node);
    return StatementRequest.JSON.writeValueAsString(node);
  }

  /** Whether memory ran out anywhere below it. */
  public static boolean isOutOfMemory(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof OutOfMemoryError || cause instanceof OutOfMemoryException) return true;
    }
    return false;
  }

  /** Whether a store did not answer, or refused. */
  private static boolean isOfStorage(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = causeOf(cause)) {
      String name = cause.getClass().getName();
      if (OF_FILES.contains(name)) return false;
      for (String connector : CONNECTORS) if (name.startsWith(connector)) return true;
      if (cause instanceof EOFException) return false;
      if (cause instanceof SocketException
          || cause instanceof SocketTimeoutException
          || cause instanceof UnknownHostException
          || cause instanceof SSLException
          || cause instanceof AccessDeniedException
          || cause instanceof AccessControlException
          || cause instanceof RemoteException
          || cause instanceof BlockMissingException) {
        return true;
      }
    }
    return false;
  }

  private static String refusal(RejectionException refusal, ObjectNode node) throws Exception {
    node.put("refusal", refusal.kind());
    node.put("subject", refusal.subject());
    if (refusal.origin() != null) place(refusal.origin(), node);
    return StatementRequest.JSON.writeValueAsString(node);
  }

  private static boolean hasCondition(Throwable failure) {
    return failure instanceof SparkThrowable && ((SparkThrowable) failure).getCondition() != null;
  }

  /** Whether its condition only says where a query failed; the error is the cause. */
  private static boolean isWrapper(Throwable failure) {
    String condition = ((SparkThrowable) failure).getCondition();
    return "TASK_WRITE_FAILED".equals(condition)
        || "STAGE_MATERIALIZATION_MULTIPLE_FAILURES".equals(condition);
  }

  /** The cause; of several stages that failed at the same time, the first one's error. */
  private static Throwable causeOf(Throwable failure) {
    if (failure.getCause() != null || !hasCondition(failure) || !isWrapper(failure))
      return failure.getCause();
    Throwable[] suppressed = failure.getSuppressed();
    return suppressed.length > 0 ? suppressed[0] : null;
  }

  private static void place(Origin origin, ObjectNode node) {
    if (origin.startIndex().isDefined()) node.put("start", (Integer) origin.startIndex().get());
    if (origin.sqlText().isDefined()) node.put("text", origin.sqlText().get());
  }

  /** The column without a group: Spark names the query, or nothing. */
  private static void ungrouped(SparkThrowable failure, ObjectNode node) {
    if (!(failure instanceof ExtendedAnalysisException)) return;
    scala.Option<LogicalPlan> plan = ((ExtendedAnalysisException) failure).plan();
    if (!plan.isDefined()) return;
    scala.collection.Iterator<Aggregate> aggregates =
        plan.get().collect(new Aggregates()).iterator();
    while (aggregates.hasNext()) {
      Aggregate aggregate = aggregates.next();
      scala.collection.Iterator<NamedExpression> selected =
          aggregate.aggregateExpressions().iterator();
      while (selected.hasNext()) {
        AttributeReference column =
            ungrouped((Expression) selected.next(), aggregate.groupingExpressions());
        if (column == null) continue;
        node.put("ungrouped", column.name());
        place(column.origin(), node);
        return;
      }
    }
  }

  private static AttributeReference ungrouped(
      Expression expression, scala.collection.immutable.Seq<Expression> groups) {
    if (expression instanceof AggregateExpression) return null;
    scala.collection.Iterator<Expression> each = groups.iterator();
    while (each.hasNext()) {
      if (each.next().semanticEquals(expression)) return null;
    }
    if (expression instanceof AttributeReference) return (AttributeReference) expression;
    scala.collection.Iterator<Expression> children = expression.children().iterator();
    while (children.hasNext()) {
      AttributeReference found = ungrouped(children.next(), groups);
      if (found != null) return found;
    }
    return null;
  }

  private static final class Aggregates extends scala.runtime.AbstractPartialFunction {
    @Override
    public boolean isDefinedAt(Object node) {
      return node instanceof Aggregate;
    }

    @Override
    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return node instanceof Aggregate ? node : otherwise.apply(node);
    }
  }

  private static void describe(SparkThrowable failure, ObjectNode node) {
    node.put("condition", failure.getCondition());
    node.put("sqlstate", failure.getSqlState());
    node.put("path", failure.getMessageParameters().get("path"));
    QueryContext[] contexts = failure.getQueryContext();
    if (contexts != null && contexts.length > 0 && contexts[0] != null) {
      if (StoreAssignment.OBJECT_TYPE.equals(contexts[0].objectType())) {
        node.put("column", contexts[0].objectName());
        return;
      }
      if (contexts[0] instanceof SQLQueryContext) {
        scala.Option<String> text = ((SQLQueryContext) contexts[0]).sqlText();
        if (text.isDefined()) node.put("text", text.get());
        scala.Option<Object> start = ((SQLQueryContext) contexts[0]).originStartIndex();
        if (start.isDefined()) node.put("start", (Integer) start.get());
      }
      try {
        node.put("fragment", contexts[0].fragment());
      } catch (RuntimeException notOfText) {
        node.putNull("fragment");
      }
    }
    if (UNGROUPED.contains(failure.getCondition())) ungrouped(failure, node);
  }
}
