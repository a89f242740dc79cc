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
import scala.Some;
import scala.collection.immutable.Seq;

/**
 * Query execution that runs no command, and that can be prepared without adaptive execution
 * whatever its session's setting is: Spark reads that setting from the session, whose other
 * statements have it too.
 */
public class StatementQueryExecution extends QueryExecution {
  private final SparkSession spark;
  private volatile boolean isAdaptive = true;
  private volatile boolean joinsInOneTask;

  public StatementQueryExecution(SparkSession spark, LogicalPlan plan) {
    super(
        spark,
        plan,
        QueryExecution$.MODULE$.$lessinit$greater$default$3(),
        CommandExecutionMode$.MODULE$.SKIP(),
        new Some<>(
            QueryExecution$.MODULE$.determineShuffleCleanupMode(spark.sessionState().conf())),
        QueryExecution$.MODULE$.$lessinit$greater$default$6(),
        QueryExecution$.MODULE$.$lessinit$greater$default$7(),
        QueryExecution$.MODULE$.$lessinit$greater$default$8());
    this.spark = spark;
  }

  /** Disables adaptive execution; called before the physical plan is created. */
  void disableAdaptiveExecution() {
    isAdaptive = false;
  }

  boolean isAdaptive() {
    return isAdaptive;
  }

  /** Plans joins in one task, which builds the hash tables; called before the physical plan is. */
  void joinInOneTask() {
    joinsInOneTask = true;
  }

  @Override
  public SparkPlanner planner() {
    return new StatementPlanner(spark, joinsInOneTask);
  }

  @Override
  public Seq<Rule<SparkPlan>> preparations() {
    if (isAdaptive) return super.preparations();
    List<Rule<SparkPlan>> rules = new ArrayList<>();
    Seq<Rule<SparkPlan>> rulesOfSpark =
        QueryExecution$.MODULE$.preparations(spark, ScalaConversions.none(), false);
    for (Rule<SparkPlan> rule : ScalaConversions.list(rulesOfSpark)) {
      rules.add(rule);
      if (!(rule instanceof EnsureRequirements)) continue;
      rules.add(new SinglePartitionExchanges());
      rules.add(new PointLookups());
    }
    return ScalaConversions.seq(rules);
  }
}
