package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftSemiOrAnti$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import scala.collection.immutable.Seq;

/**
 * The ranges of a plan's columns, as unscaled values of decimals and as whole numbers, and the
 * maximum number of rows. They come from the log's statistics of the files that remain after
 * pruning, carried up through the plan. A column without statistics may have all values of its
 * type.
 *
 * <p>Other writers wrote the log, so any of it may be wrong.
 */
final class ColumnRanges {
  private final RemainingFiles remaining;

  /**
   * Plan -> id of a column -> its range. Without it, a column that each level of a plan uses twice
   * would be looked up 2^levels times.
   */
  private final Map<LogicalPlan, Map<ExprId, ValueRange>> known = new IdentityHashMap<>();

  ColumnRanges(RemainingFiles remaining) {
    this.remaining = remaining;
  }

  /** Returns the range of a column of the plan's output; null if it is unknown. */
  ValueRange of(Attribute column, LogicalPlan plan) {
    Map<ExprId, ValueRange> ranges = known.computeIfAbsent(plan, each -> new HashMap<>());
    if (!ranges.containsKey(column.exprId())) ranges.put(column.exprId(), narrowest(column, plan));
    return ranges.get(column.exprId());
  }

  private ValueRange narrowest(Attribute column, LogicalPlan plan) {
    ValueRange ofType = UnscaledDecimalRewrite.ofType(column.dataType());
    ValueRange found = found(column, plan);
    if (found == null) return ofType;
    return ofType == null || ofType.contains(found) ? found : ofType;
  }

  private ValueRange found(Attribute column, LogicalPlan plan) {
    if (RemainingFiles.isOurs(plan)) return inFiles(column, (LogicalRelation) plan);
    if (plan instanceof Project project) return ofNamed(column, project.projectList(), plan);
    if (plan instanceof Aggregate aggregate) {
      return ofNamed(column, aggregate.aggregateExpressions(), plan);
    }
    if (plan instanceof Expand expand) return ofExpanded(column, expand);
    if (plan instanceof Union union) return ofUnited(column, union);
    if (!(plan instanceof Join) && !(plan instanceof Generate) && !addsNoRows(plan)) return null;
    for (LogicalPlan child : list(plan.children())) {
      if (child.outputSet().contains(column)) return of(column, child);
    }
    return null;
  }

  /** Returns whether the plan returns rows of its child, with their values, and no others. */
  private static boolean addsNoRows(LogicalPlan plan) {
    return plan instanceof Filter
        || plan instanceof Sort
        || plan instanceof GlobalLimit
        || plan instanceof LocalLimit
        || plan instanceof Window
        || plan instanceof RepartitionOperation;
  }

  private ValueRange inFiles(Attribute column, LogicalRelation leaf) {
    ScanEstimate estimate = remaining.values(leaf);
    JsonNode bounds = estimate == null ? null : estimate.columns.get(column.name());
    if (bounds == null || bounds.get("low").isNull() || bounds.get("high").isNull()) return null;
    BigInteger low = unscaled(bounds.get("low"), column.dataType(), RoundingMode.FLOOR);
    BigInteger high = unscaled(bounds.get("high"), column.dataType(), RoundingMode.CEILING);
    return low.compareTo(high) > 0 ? null : new ValueRange(low, high);
  }

  private static BigInteger unscaled(JsonNode bound, DataType type, RoundingMode mode) {
    int scale = type instanceof DecimalType decimal ? decimal.scale() : 0;
    return new BigDecimal(bound.asText()).setScale(scale, mode).unscaledValue();
  }

  private ValueRange ofNamed(Attribute column, Seq<NamedExpression> expressions, LogicalPlan plan) {
    for (NamedExpression each : list(expressions)) {
      if (!each.exprId().equals(column.exprId())) continue;
      return ofExpression(each instanceof Alias alias ? alias.child() : (Expression) each, plan);
    }
    return null;
  }

  /** Returns the range of an expression over the rows of the plan's child. */
  private ValueRange ofExpression(Expression expression, LogicalPlan plan) {
    LogicalPlan child = plan.children().head();
    if (expression instanceof Attribute column) return of(column, child);
    UnscaledDecimal unscaled = new UnscaledDecimalRewrite(this, child).of(expression);
    return unscaled == null ? null : unscaled.range();
  }

  private ValueRange ofExpanded(Attribute column, Expand plan) {
    int position = position(column, plan);
    if (position < 0) return null;
    ValueRange range = null;
    for (Seq<Expression> projection : list(plan.projections())) {
      Expression each = projection.apply(position);
      if (each instanceof Literal literal && literal.value() == null) continue;
      ValueRange found = ofExpression(each, plan);
      if (found == null) return null;
      range = range == null ? found : range.with(found);
    }
    return range;
  }

  private ValueRange ofUnited(Attribute column, Union plan) {
    int position = position(column, plan);
    if (position < 0) return null;
    ValueRange range = null;
    for (LogicalPlan child : list(plan.children())) {
      ValueRange found = of(child.output().apply(position), child);
      if (found == null) return null;
      range = range == null ? found : range.with(found);
    }
    return range;
  }

  private static int position(Attribute column, LogicalPlan plan) {
    List<Attribute> output = list(plan.output());
    for (int i = 0; i < output.size(); i++) {
      if (output.get(i).exprId().equals(column.exprId())) return i;
    }
    return -1;
  }

  /** Returns the maximum number of rows; null if it is unknown. */
  BigInteger rows(LogicalPlan plan) {
    if (RemainingFiles.isOurs(plan)) {
      ScanEstimate estimate = remaining.values((LogicalRelation) plan);
      return estimate == null || estimate.rows == null ? null : BigInteger.valueOf(estimate.rows);
    }
    if (plan instanceof Join join) {
      boolean isOfLeft = LeftSemiOrAnti$.MODULE$.unapply(join.joinType()).isDefined();
      return isOfLeft ? rows(join.left()) : null;
    }
    boolean isKnown =
        plan instanceof Project
            || plan instanceof Aggregate
            || plan instanceof Expand
            || plan instanceof Union
            || addsNoRows(plan);
    if (!isKnown) return null;
    BigInteger sum = BigInteger.ZERO;
    for (LogicalPlan child : list(plan.children())) {
      BigInteger rows = rows(child);
      if (rows == null) return null;
      sum = sum.add(rows);
    }
    if (plan instanceof Expand expand) {
      sum = sum.multiply(BigInteger.valueOf(expand.projections().size()));
    }
    return plan instanceof Aggregate ? sum.max(BigInteger.ONE) : sum;
  }
}
