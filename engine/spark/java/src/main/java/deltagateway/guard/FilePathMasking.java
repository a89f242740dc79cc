package deltagateway.guard;

import static deltagateway.internals.ScalaConversions.list;

import deltagateway.analysis.ColumnLineage;
import deltagateway.internals.PlanNodes;
import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.UnionLoopRef;
import org.apache.spark.unsafe.types.UTF8String;
import scala.PartialFunction;

/**
 * Hides paths of files, and positions in them, of a view whose tables its reader may not read.
 *
 * <p>Columns that the view makes from them are NULL for such a reader; its conditions still have
 * them, since the view would have other rows otherwise. `input_file_name()` and similar functions
 * in a query over the view return what they return over rows of no file.
 */
public final class FilePathMasking {
  private static final UTF8String NO_FILE = UTF8String.EMPTY_UTF8;
  private static final Long NO_BLOCK = -1L;

  private FilePathMasking() {}

  /** Returns the rows of such a view, with NULL in the columns that depend on paths of files. */
  public static LogicalPlan ofView(LogicalPlan rows) {
    boolean[] isMasked = ColumnLineage.dependsOnFilePaths(rows);
    List<NamedExpression> columns = new ArrayList<>();
    boolean masksAny = false;
    for (Attribute column : list(rows.output())) {
      boolean masks = isMasked[columns.size()];
      masksAny |= masks;
      columns.add(
          masks ? PlanNodes.alias(new Literal(null, column.dataType()), column.name()) : column);
    }
    return masksAny ? new Project(ScalaConversions.seq(columns), rows) : rows;
  }

  /** Returns an analyzed query in which functions of files find none in the rows of such views. */
  public static LogicalPlan ofQuery(LogicalPlan plan) {
    if (SecurityBarrierViews.isAroundLateral(plan)) return ofLeftSide((Sample) plan);
    return SecurityBarrierViews.isMarked(plan) ? plan : ofCaller(plan);
  }

  /** Masks the left side of a lateral join; its right side has the rows of a function. */
  private static LogicalPlan ofLeftSide(Sample barrier) {
    LogicalPlan join = barrier.child();
    LogicalPlan left = ofQuery(join.children().head());
    LogicalPlan masked = join.withNewChildren(ScalaConversions.one(left));
    return barrier.withNewChildren(ScalaConversions.one(masked));
  }

  private static LogicalPlan ofCaller(LogicalPlan plan) {
    List<LogicalPlan> children =
        list(plan.children()).stream().map(FilePathMasking::ofQuery).toList();
    boolean isSame = true;
    for (int i = 0; i < children.size(); i++) isSame &= children.get(i) == plan.children().apply(i);
    LogicalPlan masked = isSame ? plan : plan.withNewChildren(ScalaConversions.seq(children));
    return masked.transformExpressionsUp(masking(mayHaveView(plan)));
  }

  /** Returns true for references to common table expressions too, which may have such a view. */
  private static boolean mayHaveView(LogicalPlan plan) {
    return SecurityBarrierViews.isMarked(plan)
        || plan instanceof CTERelationRef
        || plan instanceof UnionLoopRef
        || list(plan.children()).stream().anyMatch(FilePathMasking::mayHaveView);
  }

  private static PartialFunction<Expression, Expression> masking(boolean isAboveView) {
    return ScalaConversions.rewrite(
        node -> {
          if (node instanceof SubqueryExpression subquery) return ofSubquery(subquery);
          if (!isAboveView) return node;
          if (node instanceof InputFileName) return new Literal(NO_FILE, node.dataType());
          boolean isBlock =
              node instanceof InputFileBlockStart || node instanceof InputFileBlockLength;
          return isBlock ? new Literal(NO_BLOCK, node.dataType()) : node;
        });
  }

  private static Expression ofSubquery(SubqueryExpression subquery) {
    LogicalPlan masked = ofQuery(subquery.plan());
    return masked == subquery.plan() ? subquery : subquery.withNewPlan(masked);
  }
}
