package deltagateway.session;

import static deltagateway.internals.ScalaConversions.list;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.ExceptionDetails;
import org.apache.spark.sql.execution.BaseSubqueryExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import scala.Function0;

/**
 * Executions that fail with a subquery's error.
 *
 * <p>Adaptive execution of a failed subquery cancels its other stages. The query may use the same
 * stages, and then fails with SPARK_JOB_CANCELLED, though nobody cancelled it.
 */
public final class SubqueryFailures {
  private SubqueryFailures() {}

  /** Runs `work` as an execution of the query that Spark records. */
  public static <T> T execute(QueryExecution query, Function0<T> work) throws Exception {
    try {
      return SQLExecution$.MODULE$.withNewExecutionId(query, ScalaConversions.none(), work);
    } catch (Exception failure) {
      throw ExceptionDetails.isOfCancelledJob(failure)
          ? reason(query.executedPlan(), failure)
          : failure;
    }
  }

  /** Returns the error of a subquery that failed by itself, or `failure` if there is none. */
  static Exception reason(SparkPlan plan, Exception failure) {
    SparkPlan root = plan instanceof AdaptiveSparkPlanExec adaptive ? adaptive.inputPlan() : plan;
    for (SparkPlan subquery : list(root.subqueriesAll())) {
      try {
        GatewaySession.ensureCurrentLive();
        // Waits for the run that the query started.
        if (subquery instanceof BaseSubqueryExec) subquery.executeCollect();
      } catch (Exception reason) {
        if (!ExceptionDetails.isOfCancelledJob(reason)) return reason;
      }
    }
    return failure;
  }
}
