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
import scala.collection.immutable.Seq;

/**
 * Planner with the settings of a statement: the session's planner chooses joins by the settings of
 * the session, whatever settings the thread has. Adaptive execution, which plans the rest of a
 * running statement, uses the session's planner, so it judges what it finds by Spark's own limit.
 */
final class StatementPlanner extends SparkPlanner {
  private final SparkPlanner planner;
  private final boolean inOneTask;

  /** `inOneTask`: all rows that are joined are in one partition. */
  StatementPlanner(SparkSession spark, boolean inOneTask) {
    super(spark, spark.sessionState().experimentalMethods());
    this.planner = spark.sessionState().planner();
    this.inOneTask = inOneTask;
  }

  @Override
  public SQLConf conf() {
    return SQLConf$.MODULE$.get();
  }

  @Override
  public Seq<SparkStrategy> extraPlanningStrategies() {
    if (!inOneTask) return planner.extraPlanningStrategies();
    List<SparkStrategy> strategies =
        new ArrayList<>(ScalaConversions.list(planner.extraPlanningStrategies()));
    strategies.add(new SingleTaskHashJoin(this));
    return ScalaConversions.seq(strategies);
  }
}
