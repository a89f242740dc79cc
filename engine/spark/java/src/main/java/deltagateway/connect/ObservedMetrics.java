package deltagateway.connect;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.protocol.StatementRequest;
import java.util.Base64;
import org.apache.spark.connect.proto.ExecutePlanResponse;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connect.common.LiteralValueProtoConverter$;
import org.apache.spark.sql.execution.CollectMetricsExec$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructField;
import scala.jdk.javaapi.CollectionConverters;

/** Metrics of `observe`, which Spark collects while the plan of a DataFrame runs. */
public final class ObservedMetrics {
  private ObservedMetrics() {}

  /** Returns whether a plan observes rows. */
  public static boolean isIn(LogicalPlan plan) {
    return plan.exists(node -> node instanceof CollectMetrics);
  }

  /** Returns an array of the protocol's messages in base64, after a plan has run. */
  public static String toJson(QueryExecution executed) {
    ArrayNode messages = StatementRequest.JSON.createArrayNode();
    CollectionConverters.asJava(CollectMetricsExec$.MODULE$.collect(executed.executedPlan()))
        .forEach((name, values) -> messages.add(encoded(name, values)));
    return messages.toString();
  }

  private static String encoded(String name, Row values) {
    ExecutePlanResponse.ObservedMetrics.Builder metrics =
        ExecutePlanResponse.ObservedMetrics.newBuilder().setName(name);
    for (StructField field : values.schema().fields()) {
      Object value = values.get(metrics.getKeysCount());
      metrics.addKeys(field.name());
      metrics.addValues(
          LiteralValueProtoConverter$.MODULE$.toLiteralProto(value, field.dataType()));
    }
    return Base64.getEncoder().encodeToString(metrics.build().toByteArray());
  }
}
