package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.none;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import java.math.BigInteger;
import java.util.List;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MakeDecimal;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType$;

/**
 * Computes sums and averages of decimals with longs, if the ranges of the columns permit it ({@link
 * UnscaledDecimalRewrite}). Spark stores decimals of more than 18 digits, such as each sum of a
 * DECIMAL(9,2) or wider, as objects, and spends most of a query's time on them. Spark's own rule
 * does the same for decimals of up to 8 digits.
 *
 * <p>A sum is one sum of longs, or two if all rows together might exceed a long ({@link
 * SplitLongSum}). An average is computed from its sum and its count as Spark does. Names, types,
 * ids and nullability stay, and the result is the same to the last digit; or the query fails
 * because the log's statistics are wrong ({@link #failed}), and has to run without this rule.
 *
 * <p>DISTINCT aggregates and window functions are not rewritten.
 */
public final class UnscaledDecimalAggregates extends SwitchedRule<LogicalPlan> {
  private static final int LONG_DIGITS = 19;
  private static final BigInteger SPLIT_ROWS_MAX =
      BigInteger.ONE.shiftLeft(SplitLongSum.LOWER_BITS);

  private final ColumnRanges columns;

  /** `remaining` are the scans of the plan. */
  public UnscaledDecimalAggregates(RemainingFiles remaining) {
    super(OptimizerRule.UNSCALED_DECIMAL_AGGREGATES);
    this.columns = new ColumnRanges(remaining);
  }

  /** Returns whether a query may have failed because a number exceeds its long. */
  public static boolean failed(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (!(cause instanceof ArithmeticException)) continue;
      String condition = cause instanceof SparkThrowable error ? error.getCondition() : null;
      return condition == null
          || condition.startsWith("ARITHMETIC_OVERFLOW")
          || condition.startsWith("NUMERIC_VALUE");
    }
    return false;
  }

  @Override
  LogicalPlan rewritePlan(LogicalPlan optimized) {
    return optimized.transformDownWithSubqueries(
        rewrite(plan -> plan instanceof Aggregate aggregate ? rewriteAggregate(aggregate) : plan));
  }

  private LogicalPlan rewriteAggregate(Aggregate plan) {
    Rows rows = new Rows(plan.child(), new UnscaledDecimalRewrite(columns, plan.child()));
    return plan.transformExpressionsDown(
        rewrite(each -> each instanceof AggregateExpression of ? rows.rewritten(of) : each));
  }

  private static boolean isRewritten(AggregateExpression aggregate) {
    if (aggregate.isDistinct()) return false;
    AggregateFunction function = aggregate.aggregateFunction();
    return function instanceof Sum && isWide(function)
        || function instanceof Average average && isWide(average.sum());
  }

  /** Returns whether Spark's own rule does not apply. */
  private static boolean isWide(Expression sum) {
    return sum.dataType() instanceof DecimalType type && type.precision() >= LONG_DIGITS;
  }

  private static Literal literal(int number) {
    return new Literal(number, IntegerType$.MODULE$);
  }

  private static Expression longSum(Expression longs, AggregateExpression aggregate) {
    return over(new Sum(longs, UnscaledDecimalRewrite.checked()), aggregate);
  }

  /** Returns the aggregate of the same rows as another one. */
  private static Expression over(AggregateFunction function, AggregateExpression aggregate) {
    return function.toAggregateExpression(false, aggregate.filter());
  }

  /** The rows below one aggregate. */
  private final class Rows {
    private final LogicalPlan plan;
    private final UnscaledDecimalRewrite decimals;

    Rows(LogicalPlan plan, UnscaledDecimalRewrite decimals) {
      this.plan = plan;
      this.decimals = decimals;
    }

    Expression rewritten(AggregateExpression aggregate) {
      if (!isRewritten(aggregate)) return aggregate;
      AggregateFunction function = aggregate.aggregateFunction();
      Expression summed = function.children().head();
      UnscaledDecimal unscaled = summed.deterministic() ? decimals.of(summed) : null;
      if (unscaled == null) return aggregate;
      Average average = function instanceof Average found ? found : null;
      Expression original = average == null ? function : average.sum();
      Expression sum = sum(unscaled, aggregate, (DecimalType) original.dataType());
      if (sum == null) return aggregate;
      return average == null ? sum : average(average, sum, unscaled, aggregate);
    }

    private Expression average(
        Average average, Expression sum, UnscaledDecimal unscaled, AggregateExpression aggregate) {
      Expression counted = average.child().nullable() ? unscaled.expression() : literal(1);
      Expression count = over(new Count(one(counted)), aggregate);
      return average
          .evaluateExpression()
          .transformUp(
              rewrite(
                  node -> {
                    if (!(node instanceof Attribute buffered)) return node;
                    return buffered.exprId().equals(average.sum().exprId()) ? sum : count;
                  }));
    }

    /** Returns null if there may be too many rows. */
    private Expression sum(
        UnscaledDecimal unscaled, AggregateExpression aggregate, DecimalType type) {
      BigInteger count = columns.rows(plan);
      Expression longs = unscaled.expression();
      if (count != null && unscaled.range().summed(count).fitsLong()) {
        return new MakeDecimal(longSum(longs, aggregate), type.precision(), type.scale(), false);
      }
      if (count != null && count.compareTo(SPLIT_ROWS_MAX) > 0) return null;
      Literal lowerBits = UnscaledDecimalRewrite.literal((1L << SplitLongSum.LOWER_BITS) - 1);
      List<Expression> arguments =
          List.of(
              longSum(new ShiftRight(longs, literal(SplitLongSum.LOWER_BITS)), aggregate),
              longSum(new BitwiseAnd(longs, lowerBits), aggregate),
              literal(type.precision()),
              literal(type.scale()));
      return new StaticInvoke(
          SplitLongSum.class, type, "total", seq(arguments), emptySeq(), true, true, true, none());
    }
  }
}
