package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.PointLookups;
import deltagateway.optimizer.SinglePartitionExchanges;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.execution.exchange.EnsureRequirements;

/**
 * A query of Spark that runs no command and may be prepared without adaptive execution, whatever
 * its session says: Spark asks the session itself for that, whose settings are those of other
 * statements too.
 */
public class StatementQueryExecution extends QueryExecution {
  private final SparkSession spark;
  private volatile boolean isAdaptive = true;
  private volatile boolean inOneTask;

  public StatementQueryExecution(SparkSession spark, LogicalPlan plan) {
    super(
        spark,
        plan,
        QueryExecution$.MODULE$.$lessinit$greater$default$3(),
        CommandExecutionMode$.MODULE$.SKIP(),
        new scala.Some<>(
            QueryExecution$.MODULE$.determineShuffleCleanupMode(spark.sessionState().conf())),
        QueryExecution$.MODULE$.$lessinit$greater$default$6(),
        QueryExecution$.MODULE$.$lessinit$greater$default$7(),
        QueryExecution$.MODULE$.$lessinit$greater$default$8());
    this.spark = spark;
  }

  /** The plan that runs is not changed while it runs; to be said before it is asked for. */
  void beFixed() {
    isAdaptive = false;
  }

  boolean isAdaptive() {
    return isAdaptive;
  }

  /**
   * Its joins are in one task, which makes the hash tables; to be said before the plan that runs is
   * asked for.
   */
  void joinInOneTask() {
    inOneTask = true;
  }

  public SparkPlanner planner() {
    return new StatementPlanner(spark, inOneTask);
  }

  public scala.collection.immutable.Seq<Rule<SparkPlan>> preparations() {
    if (isAdaptive) return super.preparations();
    List<Rule<SparkPlan>> rules = new ArrayList<>();
    List<Rule<SparkPlan>> ofSpark =
        ScalaConversions.list(
            QueryExecution$.MODULE$.preparations(spark, ScalaConversions.none(), false));
    for (int i = 0; i < ofSpark.size(); i++) {
      rules.add(ofSpark.get(i));
      if (!(ofSpark.get(i) instanceof EnsureRequirements)) continue;
      rules.add(new SinglePartitionExchanges());
      rules.add(new PointLookups());
    }
    return ScalaConversions.seq(rules);
  }
}
