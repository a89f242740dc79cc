package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.rewrite;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.scan.FilteredScan;
import deltagateway.scan.PrunedFileIndex;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.optimizer.BuildRight$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.HashedRelation;

/**
 * Prunes the files of a scan by the keys of a broadcast relation that its rows are joined with.
 *
 * <p>Adaptive execution creates a stage after the broadcasts in it have finished. This rule then
 * adds conditions to each scan below a join that returns only rows with a match (inner, left semi):
 * each key is one of the broadcast ones, or for many keys between their minimum and maximum. The
 * condition follows from the join, so results do not change; files and row groups that cannot match
 * are not read. Spark's own dynamic pruning only knows partitions; its setting disables both.
 */
public final class DynamicFilePruning extends SwitchedRule<SparkPlan> {
  private final SparkSession session;

  public DynamicFilePruning(SparkSession session) {
    super(OptimizerRule.DYNAMIC_FILE_PRUNING);
    this.session = session;
  }

  /** A scan, and the column of it that a join key is. */
  private record Source(FileSourceScanExec scan, AttributeReference column) {
    /** Returns the minimum and the maximum of the column if the estimate has them; else null. */
    long[] bounds() {
      ScanEstimate estimate = ((PrunedFileIndex) scan.relation().location()).estimate();
      JsonNode known = estimate == null ? null : estimate.columns.get(column.name());
      if (known == null) return null;
      JsonNode low = known.get("low");
      JsonNode high = known.get("high");
      boolean isKnown = low.isIntegralNumber() && high.isIntegralNumber();
      return isKnown ? new long[] {low.longValue(), high.longValue()} : null;
    }
  }

  @Override
  SparkPlan rewritePlan(SparkPlan plan) {
    if (!session.sessionState().conf().dynamicPartitionPruningEnabled()) return plan;
    Map<SparkPlan, List<Expression>> conditions = new IdentityHashMap<>();
    collect(plan, conditions);
    if (conditions.isEmpty()) return plan;
    return plan.transformUp(
        rewrite(
            node ->
                conditions.containsKey(node)
                    ? filtered((FileSourceScanExec) node, conditions.get(node))
                    : node));
  }

  private static void collect(SparkPlan plan, Map<SparkPlan, List<Expression>> conditions) {
    if (plan instanceof BroadcastHashJoinExec join) collectJoin(join, conditions);
    list(plan.children()).forEach(child -> collect(child, conditions));
  }

  private static void collectJoin(
      BroadcastHashJoinExec join, Map<SparkPlan, List<Expression>> conditions) {
    boolean dropsRows =
        join.joinType() == Inner$.MODULE$
            || join.joinType() == LeftSemi$.MODULE$ && join.buildSide() == BuildRight$.MODULE$;
    if (!dropsRows || !(join.buildPlan() instanceof BroadcastQueryStageExec stage)) return;
    for (int i = 0; i < join.streamedKeys().size(); i++) {
      Expression key = join.streamedKeys().apply(i);
      Source source = source(join.streamedPlan(), key instanceof Cast cast ? cast.child() : key);
      if (source == null || !stage.isMaterialized()) continue;
      Broadcast<Object> broadcast = stage.executeBroadcast();
      if (!(broadcast.value() instanceof HashedRelation relation)) return;
      Expression condition =
          new BroadcastJoinKeys(relation, join.streamedKeys())
              .condition(over(key, source.column()), i, source.bounds());
      if (condition == null) continue;
      conditions.computeIfAbsent(source.scan(), scan -> new ArrayList<>()).add(condition);
    }
  }

  /** Returns the key with the scan's own column. */
  private static Expression over(Expression key, Expression column) {
    return key instanceof Cast cast ? cast.withNewChildren(one(column)) : column;
  }

  /** Returns the source of a column if no operator in between needs the rows without a match. */
  private static Source source(SparkPlan plan, Object expression) {
    if (!(expression instanceof AttributeReference column)) return null;
    if (plan instanceof FileSourceScanExec scan) {
      return FilteredScan.isOurs(plan) ? new Source(scan, column) : null;
    }
    if (plan instanceof FilterExec filter) return source(filter.child(), column);
    if (plan instanceof ProjectExec project) {
      return source(project.child(), origin(project, column));
    }
    if (plan instanceof BroadcastHashJoinExec join) {
      SparkPlan streamed = join.streamedPlan();
      return streamed.outputSet().contains(column) ? source(streamed, column) : null;
    }
    return null;
  }

  /** Returns the expression of a projection that a column is. */
  private static Object origin(ProjectExec project, Attribute column) {
    for (NamedExpression each : list(project.projectList())) {
      if (each.exprId().equals(column.exprId())) {
        return each instanceof Alias alias ? alias.child() : each;
      }
    }
    return null;
  }

  private static FileSourceScanExec filtered(FileSourceScanExec scan, List<Expression> conditions) {
    List<Expression> onConstants = new ArrayList<>();
    List<Expression> onData = new ArrayList<>();
    for (Expression each : conditions) {
      String column = ((Attribute) each.references().head()).name();
      boolean isConstant = scan.relation().partitionSchema().getFieldIndex(column).isDefined();
      (isConstant ? onConstants : onData).add(each);
    }
    return FilteredScan.of(scan, onConstants, onData);
  }
}
