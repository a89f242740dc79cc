package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
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
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType$;

/**
 * Sums and averages of decimals computed in longs, as far as the ranges of the columns allow it
 * ({@link UnscaledDecimalRewrite}): Spark keeps what has more than 18 digits, as each sum of a
 * DECIMAL(9,2) or wider, in objects, and takes most of a query's time for that. Spark's own rule
 * does the same for decimals of up to 8 digits.
 *
 * <p>A sum is one of longs, or two where all rows together might be too much for a long ({@link
 * SplitLongSum}). An average is what Spark makes of its sum and its count. Names, types, ids and
 * nullability stay, and what is computed is the same to the last digit; or it fails, where the log
 * was wrong, and the query has to run as it was ({@link #failed}).
 *
 * <p>DISTINCT aggregates and window functions stay as they are.
 */
public final class UnscaledDecimalAggregates extends scala.runtime.AbstractPartialFunction {
  private static final int LONG_DIGITS = 19;
  private static final BigInteger SPLIT_ROWS_MAX =
      BigInteger.ONE.shiftLeft(SplitLongSum.LOWER_BITS);

  private final ColumnRanges columns;

  private UnscaledDecimalAggregates(RemainingFiles left) {
    this.columns = new ColumnRanges(left);
  }

  /**
   * The optimized plan, of which `left` is what it reads, with its sums in longs; itself where none
   * is.
   */
  public static LogicalPlan of(LogicalPlan optimized, RemainingFiles left) {
    return optimized.transformDownWithSubqueries(new UnscaledDecimalAggregates(left));
  }

  /**
   * Whether it may be because of numbers that are too large for their long, in a plan of {@link
   * #of}.
   */
  public static boolean failed(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (!(cause instanceof ArithmeticException)) continue;
      String condition =
          cause instanceof SparkThrowable ? ((SparkThrowable) cause).getCondition() : null;
      return condition == null
          || condition.startsWith("ARITHMETIC_OVERFLOW")
          || condition.startsWith("NUMERIC_VALUE");
    }
    return false;
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Aggregate;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    Aggregate plan = (Aggregate) node;
    return plan.transformExpressionsDown(new OfRows(columns, plan.child()));
  }

  private static final class OfRows extends scala.runtime.AbstractPartialFunction {
    private final ColumnRanges columns;
    private final LogicalPlan rows;
    private final UnscaledDecimalRewrite forms;

    OfRows(ColumnRanges columns, LogicalPlan rows) {
      this.columns = columns;
      this.rows = rows;
      this.forms = new UnscaledDecimalRewrite(columns, rows);
    }

    public boolean isDefinedAt(Object node) {
      if (!(node instanceof AggregateExpression) || ((AggregateExpression) node).isDistinct())
        return false;
      AggregateFunction function = ((AggregateExpression) node).aggregateFunction();
      return function instanceof Sum && isWide(function)
          || function instanceof Average && isWide(((Average) function).sum());
    }

    /** Other sums are those of Spark's own rule. */
    private static boolean isWide(Expression sum) {
      return sum.dataType() instanceof DecimalType
          && ((DecimalType) sum.dataType()).precision() >= LONG_DIGITS;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      AggregateExpression aggregate = (AggregateExpression) node;
      AggregateFunction function = aggregate.aggregateFunction();
      Expression summed = function.children().head();
      UnscaledDecimal form = summed.deterministic() ? forms.of(summed) : null;
      if (form == null) return node;
      if (function instanceof Sum) {
        Expression sum = sum(form, aggregate, (DecimalType) function.dataType());
        return sum == null ? node : sum;
      }
      Average average = (Average) function;
      Expression sum = sum(form, aggregate, (DecimalType) average.sum().dataType());
      if (sum == null) return node;
      Expression counted =
          average.child().nullable()
              ? form.expression
              : new Literal(Integer.valueOf(1), IntegerType$.MODULE$);
      Expression count = over(new Count(ScalaConversions.seq(Arrays.asList(counted))), aggregate);
      return average.evaluateExpression().transformUp(new Buffered(average, sum, count));
    }

    /** Null: there may be too many rows. */
    private Expression sum(UnscaledDecimal form, AggregateExpression aggregate, DecimalType type) {
      BigInteger count = columns.rows(rows);
      if (count != null && form.range.summed(count).fitsLong()) {
        return new MakeDecimal(
            sum(form.expression, aggregate), type.precision(), type.scale(), false);
      }
      if (count != null && count.compareTo(SPLIT_ROWS_MAX) > 0) return null;
      Literal bits = new Literal(Integer.valueOf(SplitLongSum.LOWER_BITS), IntegerType$.MODULE$);
      List<Expression> arguments = new ArrayList<>();
      arguments.add(sum(new ShiftRight(form.expression, bits), aggregate));
      arguments.add(
          sum(
              new BitwiseAnd(
                  form.expression,
                  UnscaledDecimalRewrite.literal((1L << SplitLongSum.LOWER_BITS) - 1)),
              aggregate));
      arguments.add(new Literal(Integer.valueOf(type.precision()), IntegerType$.MODULE$));
      arguments.add(new Literal(Integer.valueOf(type.scale()), IntegerType$.MODULE$));
      scala.collection.immutable.Seq<AbstractDataType> noTypes =
          ScalaConversions.seq(new ArrayList<>());
      return new StaticInvoke(
          SplitLongSum.class,
          type,
          "total",
          ScalaConversions.seq(arguments),
          noTypes,
          true,
          true,
          true,
          ScalaConversions.none());
    }

    private static Expression sum(Expression longs, AggregateExpression aggregate) {
      return over(new Sum(longs, UnscaledDecimalRewrite.checked()), aggregate);
    }

    /** Of the rows that another aggregate is of. */
    private static Expression over(AggregateFunction function, AggregateExpression aggregate) {
      return function.toAggregateExpression(false, aggregate.filter());
    }
  }

  /** Puts a sum and a count in the place of those that an average keeps. */
  private static final class Buffered extends scala.runtime.AbstractPartialFunction {
    private final Average average;
    private final Expression sum;
    private final Expression count;

    Buffered(Average average, Expression sum, Expression count) {
      this.average = average;
      this.sum = sum;
      this.count = count;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof Attribute;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return ((Attribute) node).exprId().equals(average.sum().exprId()) ? sum : count;
    }
  }
}
