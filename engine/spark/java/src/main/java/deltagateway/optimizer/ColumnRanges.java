package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
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

/**
 * What range the columns of a plan have, as unscaled values of decimals and as whole numbers, and
 * how many rows there are at most: what the log says of the files that the filters leave, carried
 * up to the plan. A column of which nothing else is known may hold what its type holds.
 *
 * <p>Other writers wrote the log, so none of it need be true.
 */
public final class ColumnRanges {
  private final RemainingFiles left;

  /**
   * Plan -> id of a column -> its range: a column that each level has twice would be looked up
   * 2^levels times.
   */
  private final Map<LogicalPlan, Map<ExprId, ValueRange>> known = new IdentityHashMap<>();

  ColumnRanges(RemainingFiles left) {
    this.left = left;
  }

  /** Of a column of the plan's output; null: it is not known. */
  ValueRange of(Attribute column, LogicalPlan plan) {
    Map<ExprId, ValueRange> ranges = known.get(plan);
    if (ranges == null) {
      ranges = new HashMap<>();
      known.put(plan, ranges);
    }
    if (!ranges.containsKey(column.exprId())) ranges.put(column.exprId(), narrowest(column, plan));
    return ranges.get(column.exprId());
  }

  private ValueRange narrowest(Attribute column, LogicalPlan plan) {
    ValueRange whole = UnscaledDecimalRewrite.ofType(column.dataType());
    ValueRange found = found(column, plan);
    if (found == null) return whole;
    return whole == null
            || found.low.compareTo(whole.low) >= 0 && found.high.compareTo(whole.high) <= 0
        ? found
        : whole;
  }

  private ValueRange found(Attribute column, LogicalPlan plan) {
    if (RemainingFiles.isOurs(plan)) return inFiles(column, (LogicalRelation) plan);
    if (plan instanceof Project) return ofNamed(column, ((Project) plan).projectList(), plan);
    if (plan instanceof Aggregate)
      return ofNamed(column, ((Aggregate) plan).aggregateExpressions(), plan);
    if (plan instanceof Expand) return ofExpanded(column, (Expand) plan);
    if (plan instanceof Union) return ofUnited(column, (Union) plan);
    if (!(plan instanceof Join) && !keepsColumns(plan)) return null;
    for (int i = 0; i < plan.children().size(); i++) {
      LogicalPlan child = plan.children().apply(i);
      if (child.outputSet().contains(column)) return of(column, child);
    }
    return null;
  }

  private static boolean keepsColumns(LogicalPlan plan) {
    return keepsRows(plan) || plan instanceof Generate;
  }

  /** Whether it has no more rows than its child, with the values that they have there. */
  private static boolean keepsRows(LogicalPlan plan) {
    return plan instanceof Filter
        || plan instanceof Sort
        || plan instanceof GlobalLimit
        || plan instanceof LocalLimit
        || plan instanceof Window
        || plan instanceof RepartitionOperation;
  }

  private ValueRange inFiles(Attribute column, LogicalRelation leaf) {
    ScanEstimate known = left.values(leaf);
    JsonNode bounds = known == null ? null : known.columns.get(column.name());
    if (bounds == null || bounds.get("low").isNull() || bounds.get("high").isNull()) return null;
    BigInteger low = unscaled(bounds.get("low"), column.dataType(), RoundingMode.FLOOR);
    BigInteger high = unscaled(bounds.get("high"), column.dataType(), RoundingMode.CEILING);
    return low.compareTo(high) > 0 ? null : new ValueRange(low, high);
  }

  private static BigInteger unscaled(JsonNode bound, DataType type, RoundingMode mode) {
    BigDecimal number = new BigDecimal(bound.asText());
    return number
        .setScale(type instanceof DecimalType ? ((DecimalType) type).scale() : 0, mode)
        .unscaledValue();
  }

  private ValueRange ofNamed(
      Attribute column, scala.collection.immutable.Seq<NamedExpression> list, LogicalPlan plan) {
    for (int i = 0; i < list.size(); i++) {
      NamedExpression each = list.apply(i);
      if (!each.exprId().equals(column.exprId())) continue;
      return ofExpression(each instanceof Alias ? ((Alias) each).child() : (Expression) each, plan);
    }
    return null;
  }

  /** Of what an operator of one child makes of it. */
  private ValueRange ofExpression(Expression expression, LogicalPlan plan) {
    LogicalPlan child = plan.children().head();
    if (expression instanceof Attribute) return of((Attribute) expression, child);
    UnscaledDecimal form = new UnscaledDecimalRewrite(this, child).of(expression);
    return form == null ? null : form.range;
  }

  private ValueRange ofExpanded(Attribute column, Expand plan) {
    int at = position(column, plan);
    ValueRange range = null;
    for (int i = 0; at >= 0 && i < plan.projections().size(); i++) {
      Expression each = ((scala.collection.Seq<Expression>) plan.projections().apply(i)).apply(at);
      if (each instanceof Literal && ((Literal) each).value() == null) continue;
      ValueRange found = ofExpression(each, plan);
      if (found == null) return null;
      range = range == null ? found : range.with(found);
    }
    return range;
  }

  private ValueRange ofUnited(Attribute column, Union plan) {
    int at = position(column, plan);
    ValueRange range = null;
    for (int i = 0; at >= 0 && i < plan.children().size(); i++) {
      LogicalPlan child = plan.children().apply(i);
      ValueRange found = of(child.output().apply(at), child);
      if (found == null) return null;
      range = range == null ? found : range.with(found);
    }
    return range;
  }

  private static int position(Attribute column, LogicalPlan plan) {
    List<Attribute> output = ScalaConversions.list(plan.output());
    for (int i = 0; i < output.size(); i++) {
      if (output.get(i).exprId().equals(column.exprId())) return i;
    }
    return -1;
  }

  /** No more rows than these; null: it is not known. */
  BigInteger rows(LogicalPlan plan) {
    if (RemainingFiles.isOurs(plan)) {
      ScanEstimate known = left.values((LogicalRelation) plan);
      return known == null || known.rows == null
          ? null
          : BigInteger.valueOf(known.rows.longValue());
    }
    boolean keeps =
        plan instanceof Project
            || plan instanceof Aggregate && !plan.children().isEmpty()
            || keepsRows(plan);
    if (plan instanceof Join)
      keeps = LeftSemiOrAnti$.MODULE$.unapply(((Join) plan).joinType()).isDefined();
    if (!keeps && !(plan instanceof Expand) && !(plan instanceof Union)) return null;
    BigInteger sum = BigInteger.ZERO;
    for (int i = 0; i < (keeps ? 1 : plan.children().size()); i++) {
      BigInteger rows = rows(plan.children().apply(i));
      if (rows == null) return null;
      sum = sum.add(rows);
    }
    if (plan instanceof Expand)
      sum = sum.multiply(BigInteger.valueOf(((Expand) plan).projections().size()));
    return plan instanceof Aggregate ? sum.max(BigInteger.ONE) : sum;
  }
}
