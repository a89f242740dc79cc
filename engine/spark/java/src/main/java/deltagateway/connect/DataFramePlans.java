package deltagateway.connect;

import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.Base64;
import org.apache.spark.connect.proto.Relation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.planner.SparkConnectPlanner;
import org.apache.spark.sql.connect.service.SessionHolder;
import org.sparkproject.connect.protobuf.CodedInputStream;

/**
 * Unresolved plans of DataFrames.
 *
 * <p>The message is checked before Spark's planner reads it, because the planner runs code: it
 * deserializes functions of clients, loads classes and files, and analyzes parts of the plan. Its
 * result has to pass the guard as a parsed text does.
 */
public final class DataFramePlans {
  /** Levels of messages, as in Spark's own server. */
  private static final int DEPTH_MAX = 1024;

  private DataFramePlans() {}

  /**
   * Returns the plan of a DataFrame over temporary views of `spark`, which must exist: the planner
   * analyzes the inputs of some relations.
   */
  public static LogicalPlan parse(
      SparkSession spark, PlanGuard guard, StatementRequest.Frame frame, StatementRequest request) {
    CodedInputStream bytes = CodedInputStream.newInstance(Base64.getDecoder().decode(frame.plan()));
    bytes.setRecursionLimit(DEPTH_MAX);
    SessionHolder holder = SessionHolder.apply(request.principal, request.id, spark);
    try {
      Relation relation = Relation.parseFrom(bytes);
      Relation checked = new AllowedMessages(spark, guard, frame.inputs()).relation(relation);
      return new SparkConnectPlanner(holder, ScalaConversions.none()).transformRelation(checked);
    } catch (IOException failure) {
      throw new RejectionException("DataFrame", "that is malformed or too deep");
    } catch (StackOverflowError failure) {
      throw new RejectionException("DataFrame", "that is too deep");
    }
  }
}
