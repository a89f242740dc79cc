package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.SingleTaskHashJoin;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * Plans as the session's planner does, by the settings of the statement: that one chooses joins by
 * the settings of the session, whatever is in effect on the thread. Adaptive execution, which plans
 * again what a statement has left to do, goes on asking the session's, so what it finds out while a
 * query runs is judged by Spark's own limit.
 */
public final class StatementPlanner extends SparkPlanner {
  private final SparkPlanner planner;
  private final boolean inOneTask;

  /** `inOneTask`: all rows that are joined are in one partition. */
  StatementPlanner(SparkSession spark, boolean inOneTask) {
    super(spark, spark.sessionState().experimentalMethods());
    this.planner = spark.sessionState().planner();
    this.inOneTask = inOneTask;
  }

  public SQLConf conf() {
    return SQLConf$.MODULE$.get();
  }

  public scala.collection.immutable.Seq<SparkStrategy> extraPlanningStrategies() {
    if (!inOneTask) return planner.extraPlanningStrategies();
    List<SparkStrategy> strategies =
        new ArrayList<>(ScalaConversions.list(planner.extraPlanningStrategies()));
    strategies.add(new SingleTaskHashJoin(this));
    return ScalaConversions.seq(strategies);
  }
}
