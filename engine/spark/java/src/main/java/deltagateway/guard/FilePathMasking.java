package deltagateway.guard;

import deltagateway.analysis.ColumnLineage;
import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UnionLoopRef;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Hides the files of a view whose tables its reader may not read: their names and places in them.
 *
 * <p>What the view's own text makes of them is NULL for such a reader; its conditions still see
 * them, since the view would have other rows without. `input_file_name()` and the like in a query
 * over the view are as over rows of no file.
 */
public final class FilePathMasking extends scala.runtime.AbstractPartialFunction {
  private static final UTF8String NO_FILE = UTF8String.EMPTY_UTF8;
  private static final Long NO_BLOCK = Long.valueOf(-1);

  private final boolean isAboveView;

  private FilePathMasking(boolean isAboveView) {
    this.isAboveView = isAboveView;
  }

  /** The rows of such a view, with NULL in the columns that are made of places. */
  public static LogicalPlan ofView(LogicalPlan rows) throws Exception {
    boolean[] places = ColumnLineage.places(rows);
    List columns = new ArrayList<>(ScalaConversions.list(rows.output()));
    scala.collection.immutable.Seq nothing = ScalaConversions.seq(new ArrayList<>());
    boolean hasAny = false;
    for (int i = 0; i < places.length; i++) {
      if (!places[i]) continue;
      Attribute column = (Attribute) columns.get(i);
      Literal empty = new Literal(null, column.dataType());
      columns.set(
          i,
          new Alias(
              empty,
              column.name(),
              NamedExpression$.MODULE$.newExprId(),
              nothing,
              ScalaConversions.none(),
              nothing));
      hasAny = true;
    }
    return hasAny ? new Project(ScalaConversions.seq(columns), rows) : rows;
  }

  /** An analyzed query that finds no places in the rows of such views. */
  public static LogicalPlan ofQuery(LogicalPlan plan) {
    if (SecurityBarrierViews.isAroundLateral(plan)) return ofJoin(plan);
    if (SecurityBarrierViews.isMarked(plan)) return plan;
    return ofCaller(plan);
  }

  /**
   * The left side of such a join is the caller's own query, and the right side the rows of a
   * function.
   */
  private static LogicalPlan ofJoin(LogicalPlan barrier) {
    LogicalPlan join = barrier.children().apply(0);
    LogicalPlan left = join.children().apply(0);
    LogicalPlan other = join.withNewChildren(one(ofQuery(left)));
    return barrier.withNewChildren(one(other));
  }

  private static scala.collection.immutable.Seq<LogicalPlan> one(LogicalPlan child) {
    return ScalaConversions.seq(Arrays.asList(child));
  }

  private static LogicalPlan ofCaller(LogicalPlan plan) {
    List<LogicalPlan> children = new ArrayList<>(ScalaConversions.list(plan.children()));
    boolean isOther = false;
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan child = children.get(i);
      children.set(i, ofQuery(child));
      isOther |= children.get(i) != child;
    }
    LogicalPlan above = isOther ? plan.withNewChildren(ScalaConversions.seq(children)) : plan;
    return above.transformExpressionsUp(new FilePathMasking(mayHoldView(plan)));
  }

  /** What a common table expression holds is not looked into here: it may be such a view. */
  private static boolean mayHoldView(LogicalPlan plan) {
    if (SecurityBarrierViews.isMarked(plan)
        || plan instanceof CTERelationRef
        || plan instanceof UnionLoopRef) return true;
    for (Iterator<LogicalPlan> all = ScalaConversions.list(plan.children()).iterator();
        all.hasNext(); ) {
      if (mayHoldView(all.next())) return true;
    }
    return false;
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof PlanExpression
        || (isAboveView && (node instanceof InputFileName || isBlock(node)));
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    if (node instanceof PlanExpression) {
      LogicalPlan plan = ((PlanExpression<LogicalPlan>) node).plan();
      LogicalPlan other = ofQuery(plan);
      return other == plan ? node : ((PlanExpression<LogicalPlan>) node).withNewPlan(other);
    }
    return new Literal(isBlock(node) ? (Object) NO_BLOCK : NO_FILE, ((Expression) node).dataType());
  }

  private static boolean isBlock(Object node) {
    return node instanceof InputFileBlockStart || node instanceof InputFileBlockLength;
  }
}
