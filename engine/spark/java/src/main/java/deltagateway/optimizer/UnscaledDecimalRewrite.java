package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.none;
import static deltagateway.internals.ScalaConversions.seq;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.ShortType;
import scala.Option;
import scala.Some;
import scala.Tuple2;

/**
 * Finds the {@link UnscaledDecimal} of decimal expressions over the rows of one plan.
 *
 * <p>The rewritten expression is exact for all values. It never rounds, because no expression that
 * loses scale is rewritten. Its arithmetic is Spark's for BIGINT in ANSI mode, which fails if a
 * long overflows, whatever the session's mode is. And each type in it contains all results: it has
 * 19 digits, as many as any long, or those that Spark's rules derive from the operands' types; so
 * the decimals would not have overflowed either. The ranges only decide whether a rewrite is likely
 * to succeed, so wrong ranges do not change results.
 */
final class UnscaledDecimalRewrite {
  private static final int LONG_DIGITS = 19;

  private final ColumnRanges columns;
  private final LogicalPlan rows;

  /** `rows` is the plan that the expressions' columns come from. */
  UnscaledDecimalRewrite(ColumnRanges columns, LogicalPlan rows) {
    this.columns = columns;
    this.rows = rows;
  }

  /** Returns the mode of exact BIGINT arithmetic, whatever the session's is. */
  static NumericEvalContext checked() {
    return new NumericEvalContext(EvalMode$.MODULE$.ANSI(), true);
  }

  static Literal literal(long number) {
    return new Literal(number, LongType$.MODULE$);
  }

  /** Returns null if the expression is not rewritten, or may exceed a long. */
  UnscaledDecimal of(Expression decimal) {
    if (!(decimal.dataType() instanceof DecimalType type)) return null;
    UnscaledDecimal found = found(decimal, type);
    return found == null || !found.range().fitsLong() ? null : found;
  }

  private UnscaledDecimal found(Expression decimal, DecimalType type) {
    if (decimal instanceof Attribute column) return ofColumn(column);
    if (decimal instanceof Literal literal) return ofLiteral(literal, type);
    if (decimal instanceof Cast cast) return ofCast(cast.child(), type);
    if (decimal instanceof BinaryArithmetic operation) return ofArithmetic(operation, type);
    if (decimal instanceof UnaryMinus minus) {
      UnscaledDecimal child = of(minus.child());
      if (child == null) return null;
      return new UnscaledDecimal(new UnaryMinus(child.expression(), true), child.range().negated());
    }
    if (decimal instanceof Abs abs) {
      UnscaledDecimal child = of(abs.child());
      if (child == null) return null;
      return new UnscaledDecimal(
          new Abs(child.expression(), true), child.range().with(child.range().negated()));
    }
    if (decimal instanceof If choice) return ofIf(choice);
    if (decimal instanceof CaseWhen cases) return ofCases(cases);
    return decimal instanceof Coalesce coalesce ? ofCoalesce(coalesce) : null;
  }

  private UnscaledDecimal ofColumn(Attribute column) {
    ValueRange range = columns.of(column, rows);
    return range == null ? null : new UnscaledDecimal(new UnscaledValue(column), range);
  }

  private static UnscaledDecimal ofLiteral(Literal literal, DecimalType type) {
    if (literal.value() == null) {
      return new UnscaledDecimal(new Literal(null, LongType$.MODULE$), ValueRange.of(0, 0));
    }
    Decimal value = (Decimal) literal.value();
    BigInteger unscaled = value.toJavaBigDecimal().unscaledValue();
    ValueRange range = new ValueRange(unscaled, unscaled);
    if (!range.fitsLong() || value.scale() != type.scale()) return null;
    return new UnscaledDecimal(literal(unscaled.longValue()), range);
  }

  /** Rewrites a cast to a type that contains all values of the child's. */
  private UnscaledDecimal ofCast(Expression child, DecimalType type) {
    int integerDigits = type.precision() - type.scale();
    if (child.dataType() instanceof DecimalType from) {
      if (integerDigits < from.precision() - from.scale()) return null;
      return scaled(of(child), type.scale() - from.scale());
    }
    int digits = digits(child.dataType());
    if (digits == 0 || integerDigits < digits) return null;
    ValueRange range =
        child instanceof Attribute column ? columns.of(column, rows) : ofType(child.dataType());
    if (range == null || !range.fitsLong()) return null;
    Expression number =
        child.dataType() instanceof LongType
            ? child
            : new Cast(child, LongType$.MODULE$, none(), EvalMode$.MODULE$.ANSI());
    return scaled(new UnscaledDecimal(number, range), type.scale());
  }

  /** Returns the same decimal with a scale that is greater by `digits`. */
  private static UnscaledDecimal scaled(UnscaledDecimal unscaled, int digits) {
    if (unscaled == null || digits < 0) return null;
    if (digits == 0) return unscaled;
    BigInteger factor = BigInteger.TEN.pow(digits);
    ValueRange range = unscaled.range().times(new ValueRange(factor, factor));
    if (!range.fitsLong() || factor.bitLength() > Long.SIZE - 1) return null;
    if (unscaled.expression() instanceof Literal literal && literal.value() != null) {
      return new UnscaledDecimal(literal(range.low().longValue()), range);
    }
    return new UnscaledDecimal(
        new Multiply(unscaled.expression(), literal(factor.longValue()), checked()), range);
  }

  private UnscaledDecimal ofArithmetic(BinaryArithmetic operation, DecimalType type) {
    UnscaledDecimal left = of(operation.left());
    UnscaledDecimal right = left == null ? null : of(operation.right());
    if (right == null) return null;
    DecimalType leftType = (DecimalType) operation.left().dataType();
    DecimalType rightType = (DecimalType) operation.right().dataType();
    if (operation instanceof Multiply) {
      if (type.scale() != leftType.scale() + rightType.scale()) return null;
      if (!holds(type, leftType.precision() + rightType.precision() + 1)) return null;
      return new UnscaledDecimal(
          new Multiply(left.expression(), right.expression(), checked()),
          left.range().times(right.range()));
    }
    if (!(operation instanceof Add) && !(operation instanceof Subtract)) return null;
    int integerDigits =
        Math.max(
            leftType.precision() - leftType.scale(), rightType.precision() - rightType.scale());
    if (!holds(type, type.scale() + integerDigits + 1)) return null;
    left = scaled(left, type.scale() - leftType.scale());
    right = scaled(right, type.scale() - rightType.scale());
    if (left == null || right == null) return null;
    if (operation instanceof Add) {
      return new UnscaledDecimal(
          new Add(left.expression(), right.expression(), checked()),
          left.range().plus(right.range()));
    }
    return new UnscaledDecimal(
        new Subtract(left.expression(), right.expression(), checked()),
        left.range().plus(right.range().negated()));
  }

  private static boolean holds(DecimalType type, int digits) {
    return type.precision() >= Math.min(digits, LONG_DIGITS);
  }

  private UnscaledDecimal ofIf(If choice) {
    UnscaledDecimal one = ofBranch(choice.trueValue(), choice);
    UnscaledDecimal other = one == null ? null : ofBranch(choice.falseValue(), choice);
    if (other == null) return null;
    return new UnscaledDecimal(
        new If(choice.predicate(), one.expression(), other.expression()),
        one.range().with(other.range()));
  }

  private UnscaledDecimal ofCases(CaseWhen cases) {
    List<Tuple2<Expression, Expression>> branches = new ArrayList<>();
    ValueRange range = null;
    for (Tuple2<Expression, Expression> branch : list(cases.branches())) {
      UnscaledDecimal value = ofBranch(branch._2(), cases);
      if (value == null) return null;
      range = range == null ? value.range() : range.with(value.range());
      branches.add(new Tuple2<>(branch._1(), value.expression()));
    }
    Option<Expression> otherwise = none();
    if (cases.elseValue().isDefined()) {
      UnscaledDecimal value = ofBranch(cases.elseValue().get(), cases);
      if (value == null) return null;
      range = range.with(value.range());
      otherwise = new Some<>(value.expression());
    }
    return new UnscaledDecimal(new CaseWhen(seq(branches), otherwise), range);
  }

  private UnscaledDecimal ofCoalesce(Coalesce coalesce) {
    List<Expression> values = new ArrayList<>();
    ValueRange range = null;
    for (Expression each : list(coalesce.children())) {
      UnscaledDecimal value = ofBranch(each, coalesce);
      if (value == null) return null;
      range = range == null ? value.range() : range.with(value.range());
      values.add(value.expression());
    }
    return new UnscaledDecimal(new Coalesce(seq(values)), range);
  }

  /** Rewrites one of the values that an expression selects from, if it has the same type. */
  private UnscaledDecimal ofBranch(Expression value, Expression choice) {
    return value.dataType().equals(choice.dataType()) ? of(value) : null;
  }

  /** Returns the maximum number of digits of a whole number; 0 for other types. */
  private static int digits(DataType type) {
    if (type instanceof ByteType) return 3;
    if (type instanceof ShortType) return 5;
    if (type instanceof IntegerType) return 10;
    return type instanceof LongType ? LONG_DIGITS : 0;
  }

  /** Returns the range of a type's values; null for other types and more than 18 digits. */
  static ValueRange ofType(DataType type) {
    if (type instanceof DecimalType decimal) {
      return decimal.precision() < LONG_DIGITS ? ValueRange.ofDigits(decimal.precision()) : null;
    }
    if (type instanceof ByteType) return ValueRange.of(Byte.MIN_VALUE, Byte.MAX_VALUE);
    if (type instanceof ShortType) return ValueRange.of(Short.MIN_VALUE, Short.MAX_VALUE);
    if (type instanceof IntegerType) return ValueRange.of(Integer.MIN_VALUE, Integer.MAX_VALUE);
    return type instanceof LongType ? ValueRange.of(Long.MIN_VALUE, Long.MAX_VALUE) : null;
  }
}
