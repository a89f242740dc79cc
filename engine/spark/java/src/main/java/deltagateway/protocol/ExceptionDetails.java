package deltagateway.protocol;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.write.StoreAssignment;
import java.io.EOFException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
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
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.SQLQueryContext;
import scala.Option;
import scala.collection.immutable.Seq;

/** Details of an exception that Python reads in one call. */
public final class ExceptionDetails {
  private static final Set<String> UNGROUPED = Set.of("MISSING_GROUP_BY", "MISSING_AGGREGATION");

  /**
   * Packages of the connectors of object stores and of their clients, which are not on the class
   * path of this class's compilation.
   */
  private static final List<String> CONNECTORS =
      List.of(
          "org.apache.hadoop.fs.s3a.",
          "org.apache.hadoop.fs.azurebfs.",
          "com.google.cloud.",
          "com.google.api.",
          "software.amazon.awssdk.",
          "com.azure.",
          "com.microsoft.azure.",
          "org.apache.http.");

  /** Exceptions of a connector about files that are shorter than expected, or were replaced. */
  private static final Set<String> FILE_ERRORS =
      Set.of(
          "org.apache.hadoop.fs.s3a.RangeNotSatisfiableEOFException",
          "org.apache.hadoop.fs.s3a.RemoteFileChangedException");

  /** Exceptions of a store that does not answer, or denies access. */
  private static final List<Class<? extends Exception>> STORAGE_ERRORS =
      List.of(
          SocketException.class,
          SocketTimeoutException.class,
          UnknownHostException.class,
          SSLException.class,
          AccessDeniedException.class,
          AccessControlException.class,
          RemoteException.class,
          BlockMissingException.class);

  private ExceptionDetails() {}

  /**
   * Returns JSON. A rejection has `refusal` and `subject`. Others have class, message, the
   * innermost cause's message, if memory was exhausted anywhere and if a store failed; and Spark's
   * own errors condition, sqlstate, message parameters, path and fragment (the text at fault), or
   * the column of a table that a value was for. `stopped` is true if Spark is stopped.
   */
  public static String describe(Throwable failure) throws JsonProcessingException {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("stopped", SparkContext$.MODULE$.getActive().isEmpty());
    Throwable reported = null;
    Throwable innermost = failure;
    for (Throwable cause = failure; cause != null; cause = causeOf(cause)) {
      innermost = cause;
      if (cause instanceof RejectionException rejection) return describe(rejection, node);
      if ((reported == null || isWrapper(reported)) && hasCondition(cause)) reported = cause;
    }
    boolean outOfMemory = isOutOfMemory(failure);
    if (reported == null) {
      reported = innermost;
      // Arrow's exception does not leave a task, only its text does.
      outOfMemory |=
          String.valueOf(innermost.getMessage()).contains(OutOfMemoryException.class.getName());
    }
    node.put("class", reported.getClass().getName());
    node.put("message", String.valueOf(reported.getMessage()));
    node.put("cause", String.valueOf(innermost.getMessage()));
    node.put("out_of_memory", outOfMemory);
    node.put("of_storage", isOfStorage(failure));
    if (hasCondition(reported)) describe((SparkThrowable) reported, node);
    return StatementRequest.JSON.writeValueAsString(node);
  }

  /** Returns true if memory was exhausted anywhere below the failure. */
  public static boolean isOutOfMemory(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof OutOfMemoryError || cause instanceof OutOfMemoryException) return true;
    }
    return false;
  }

  /** Returns true if the failure only says that Spark cancelled a job, not why. */
  public static boolean isOfCancelledJob(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = causeOf(cause)) {
      if (cause instanceof SparkThrowable error
          && "SPARK_JOB_CANCELLED".equals(error.getCondition())) return true;
    }
    return false;
  }

  private static boolean isOfStorage(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = causeOf(cause)) {
      Throwable candidate = cause;
      String name = cause.getClass().getName();
      if (FILE_ERRORS.contains(name)) return false;
      if (CONNECTORS.stream().anyMatch(name::startsWith)) return true;
      if (cause instanceof EOFException) return false;
      if (STORAGE_ERRORS.stream().anyMatch(type -> type.isInstance(candidate))) return true;
    }
    return false;
  }

  private static String describe(RejectionException rejection, ObjectNode node)
      throws JsonProcessingException {
    node.put("refusal", rejection.kind());
    node.put("subject", rejection.subject());
    if (rejection.origin() != null) putPosition(rejection.origin(), node);
    return StatementRequest.JSON.writeValueAsString(node);
  }

  private static boolean hasCondition(Throwable failure) {
    return failure instanceof SparkThrowable error && error.getCondition() != null;
  }

  /** Returns true if the condition only names the part of Spark that failed. */
  private static boolean isWrapper(Throwable failure) {
    String condition = ((SparkThrowable) failure).getCondition();
    return "TASK_WRITE_FAILED".equals(condition)
        || "STAGE_MATERIALIZATION_MULTIPLE_FAILURES".equals(condition);
  }

  /**
   * Returns the cause; of several stages that failed at the same time, the first one's error that
   * is not a cancellation because of another one.
   */
  private static Throwable causeOf(Throwable failure) {
    if (failure.getCause() != null || !hasCondition(failure) || !isWrapper(failure))
      return failure.getCause();
    List<Throwable> stages = List.of(failure.getSuppressed());
    return stages.stream()
        .filter(stage -> !isOfCancelledJob(stage))
        .findFirst()
        .orElse(stages.isEmpty() ? null : stages.get(0));
  }

  private static void putPosition(Origin origin, ObjectNode node) {
    putStart(origin.startIndex(), node);
    if (origin.sqlText().isDefined()) node.put("text", origin.sqlText().get());
  }

  /** Adds the place of a syntax error, which Spark reports as a line and a column of the text. */
  private static void putPosition(ParseException syntax, ObjectNode node) {
    Origin place = syntax.start();
    if (syntax.command().isEmpty() || place.line().isEmpty() || place.startPosition().isEmpty())
      return;
    String text = syntax.command().get();
    int start = 0;
    for (int line = 1; line < (Integer) place.line().get(); line++)
      start = text.indexOf('\n', start) + 1;
    node.put("text", text);
    node.put("start", start + (Integer) place.startPosition().get());
  }

  private static void putStart(Option<Object> index, ObjectNode node) {
    if (index.isDefined()) node.put("start", (Integer) index.get());
  }

  /** Adds the column that is not grouped: Spark names the query, or nothing. */
  private static void putUngrouped(SparkThrowable failure, ObjectNode node) {
    if (!(failure instanceof ExtendedAnalysisException error) || error.plan().isEmpty()) return;
    ungroupedColumn(error.plan().get())
        .ifPresent(
            column -> {
              node.put("ungrouped", column.name());
              putPosition(column.origin(), node);
            });
  }

  /** Returns the first one in the order of the plan. */
  private static Optional<AttributeReference> ungroupedColumn(LogicalPlan plan) {
    Stream<AttributeReference> ofNode =
        plan instanceof Aggregate aggregate
            ? list(aggregate.aggregateExpressions()).stream()
                .flatMap(
                    selected -> ungrouped((Expression) selected, aggregate.groupingExpressions()))
            : Stream.empty();
    Stream<AttributeReference> ofChildren =
        list(plan.children()).stream().flatMap(child -> ungroupedColumn(child).stream());
    return Stream.concat(ofNode, ofChildren).findFirst();
  }

  private static Stream<AttributeReference> ungrouped(
      Expression expression, Seq<Expression> groups) {
    if (expression instanceof AggregateExpression
        || list(groups).stream().anyMatch(group -> group.semanticEquals(expression)))
      return Stream.empty();
    if (expression instanceof AttributeReference column) return Stream.of(column);
    return list(expression.children()).stream().flatMap(child -> ungrouped(child, groups));
  }

  private static void describe(SparkThrowable failure, ObjectNode node) {
    node.put("condition", failure.getCondition());
    node.put("sqlstate", failure.getSqlState());
    node.put("path", failure.getMessageParameters().get("path"));
    ObjectNode parameters = node.putObject("parameters");
    failure.getMessageParameters().forEach(parameters::put);
    if (failure instanceof ParseException syntax) putPosition(syntax, node);
    QueryContext[] contexts = failure.getQueryContext();
    if (contexts != null && contexts.length > 0 && contexts[0] != null) {
      QueryContext context = contexts[0];
      if (StoreAssignment.OBJECT_TYPE.equals(context.objectType())) {
        node.put("column", context.objectName());
        return;
      }
      if (context instanceof SQLQueryContext query) {
        if (query.sqlText().isDefined()) node.put("text", query.sqlText().get());
        putStart(query.originStartIndex(), node);
      }
      try {
        node.put("fragment", context.fragment());
      } catch (RuntimeException notOfText) {
        node.putNull("fragment");
      }
    }
    if (UNGROUPED.contains(failure.getCondition())) putUngrouped(failure, node);
  }
}
