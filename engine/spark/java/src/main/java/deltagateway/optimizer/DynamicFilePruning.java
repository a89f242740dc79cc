package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
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
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.HashedRelation;
import scala.collection.immutable.Seq;

/**
 * Dynamic file pruning: a join whose one side was broadcast tells the scan on its other side which
 * keys it will find.
 *
 * <p>Adaptive execution makes a stage when the broadcasts in it are there. Then this rule adds to
 * each scan below a join that keeps only rows with a match (inner, left semi) the condition that
 * each of its keys is among the broadcast ones, or between the lowest and the highest where there
 * are many. The condition follows from the join, so results cannot change; files and row groups
 * that cannot match are not read. Spark's own dynamic pruning knows partitions only; its setting
 * turns off both.
 */
public final class DynamicFilePruning extends Rule {
  private final SparkSession session;

  public DynamicFilePruning(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    if (!session.sessionState().conf().dynamicPartitionPruningEnabled()) return plan;
    IdentityHashMap<FileSourceScanExec, List<Expression>> found = new IdentityHashMap<>();
    collect((SparkPlan) plan, found);
    return found.isEmpty() ? plan : ((SparkPlan) plan).transformUp(new Narrowing(found));
  }

  /** Fills `found`: scan -> list of conditions. */
  private static void collect(SparkPlan plan, Map<FileSourceScanExec, List<Expression>> found) {
    if (plan instanceof BroadcastHashJoinExec) collectJoin((BroadcastHashJoinExec) plan, found);
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) collect(children.get(i), found);
  }

  private static void collectJoin(
      BroadcastHashJoinExec join, Map<FileSourceScanExec, List<Expression>> found) {
    boolean drops =
        join.joinType() == Inner$.MODULE$
            || (join.joinType() == LeftSemi$.MODULE$ && join.buildSide() == BuildRight$.MODULE$);
    if (!drops || !(join.buildPlan() instanceof BroadcastQueryStageExec)) return;
    BroadcastQueryStageExec stage = (BroadcastQueryStageExec) join.buildPlan();
    for (int at = 0; at < join.streamedKeys().size(); at++) {
      Expression key = join.streamedKeys().apply(at);
      Source source = source(join.streamedPlan(), key instanceof Cast ? ((Cast) key).child() : key);
      if (source == null || !stage.isMaterialized()) continue;
      Object built = ((Broadcast) stage.executeBroadcast()).value();
      if (!(built instanceof HashedRelation)) return;
      BroadcastJoinKeys keys = new BroadcastJoinKeys((HashedRelation) built, join.streamedKeys());
      Expression condition = keys.condition(over(key, source.column), at, bounds(source));
      if (condition == null) continue;
      if (!found.containsKey(source.scan)) found.put(source.scan, new ArrayList<>());
      found.get(source.scan).add(condition);
    }
  }

  /** The lowest and the highest value of the column, as far as they were asked for; else null. */
  private static long[] bounds(Source source) {
    ScanEstimate estimate = ((PrunedFileIndex) source.scan.relation().location()).estimate();
    JsonNode known =
        estimate == null ? null : estimate.columns.get(((Attribute) source.column).name());
    if (known == null
        || !known.get("low").isIntegralNumber()
        || !known.get("high").isIntegralNumber()) return null;
    return new long[] {known.get("low").longValue(), known.get("high").longValue()};
  }

  /** The key with the scan's own column in it. */
  private static Expression over(Expression key, Expression column) {
    if (!(key instanceof Cast)) return column;
    List<Expression> child = new ArrayList<>();
    child.add(column);
    return ((Cast) key).withNewChildren(ScalaConversions.seq(child));
  }

  /** Where a column comes from, if nothing on the way needs the rows that would be missing. */
  private static Source source(SparkPlan plan, Expression column) {
    if (!(column instanceof AttributeReference)) return null;
    if (plan instanceof FileSourceScanExec) {
      return FilteredScan.isOurs(plan) ? new Source((FileSourceScanExec) plan, column) : null;
    }
    if (plan instanceof FilterExec) return source(((FilterExec) plan).child(), column);
    if (plan instanceof ProjectExec) {
      return source(
          ((ProjectExec) plan).child(),
          origin(((ProjectExec) plan).projectList(), (Attribute) column));
    }
    if (plan instanceof BroadcastHashJoinExec) {
      SparkPlan streamed = ((BroadcastHashJoinExec) plan).streamedPlan();
      return streamed.outputSet().contains((Attribute) column) ? source(streamed, column) : null;
    }
    return null;
  }

  /** What a projection makes a column of. */
  private static Expression origin(Seq<NamedExpression> projection, Attribute column) {
    for (int i = 0; i < projection.size(); i++) {
      NamedExpression each = projection.apply(i);
      if (each.exprId().equals(column.exprId()))
        return each instanceof Alias ? ((Alias) each).child() : (Expression) each;
    }
    return null;
  }

  private static final class Source {
    final FileSourceScanExec scan;
    final Expression column;

    Source(FileSourceScanExec scan, Expression column) {
      this.scan = scan;
      this.column = column;
    }
  }

  private static final class Narrowing extends scala.runtime.AbstractPartialFunction {
    private final Map<FileSourceScanExec, List<Expression>> found;

    Narrowing(Map<FileSourceScanExec, List<Expression>> found) {
      this.found = found;
    }

    public boolean isDefinedAt(Object node) {
      return found.containsKey(node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      FileSourceScanExec scan = (FileSourceScanExec) node;
      List<Expression> onConstants = new ArrayList<>();
      List<Expression> onData = new ArrayList<>();
      List<Expression> conditions = found.get(node);
      for (int i = 0; i < conditions.size(); i++) {
        Expression condition = conditions.get(i);
        (isOnConstant(scan, condition) ? onConstants : onData).add(condition);
      }
      return FilteredScan.of(scan, onConstants, onData);
    }

    private static boolean isOnConstant(FileSourceScanExec scan, Expression condition) {
      String name = ((Attribute) condition.references().head()).name();
      return scan.relation().partitionSchema().getFieldIndex(name).isDefined();
    }
  }
}
