package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
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

/**
 * Finds the {@link UnscaledDecimal} of decimal expressions over the rows of one plan.
 *
 * <p>A form is exact, whatever the values are. Nothing in it rounds, for it is found only where no
 * scale is lost. Its arithmetic is Spark's for BIGINT under ANSI, which raises where a long is too
 * small, in sessions of either kind. And each type on the way holds what is computed: it has 19
 * digits, as many as any long, or those that Spark's rules give to the operands' types; so the
 * decimals would not have overflowed either. The ranges only say whether a form is worth to be
 * tried, so it does not matter to what it gives whether they are true.
 */
public final class UnscaledDecimalRewrite {
  private static final int LONG_DIGITS = 19;

  private final ColumnRanges columns;
  private final LogicalPlan rows;

  /** `rows` is the plan that the expressions' columns come from. */
  UnscaledDecimalRewrite(ColumnRanges columns, LogicalPlan rows) {
    this.columns = columns;
    this.rows = rows;
  }

  /** Exact BIGINT arithmetic, whatever the session's is. */
  static NumericEvalContext checked() {
    return new NumericEvalContext(EvalMode$.MODULE$.ANSI(), true);
  }

  static Literal literal(long number) {
    return new Literal(Long.valueOf(number), LongType$.MODULE$);
  }

  /** Null: it has none, or one that may not fit. */
  UnscaledDecimal of(Expression decimal) {
    if (!(decimal.dataType() instanceof DecimalType)) return null;
    UnscaledDecimal form = found(decimal, (DecimalType) decimal.dataType());
    return form == null || !form.range.fitsLong() ? null : form;
  }

  private UnscaledDecimal found(Expression decimal, DecimalType type) {
    if (decimal instanceof Attribute) return ofColumn((Attribute) decimal);
    if (decimal instanceof Literal) return ofLiteral((Literal) decimal);
    if (decimal instanceof Cast) return ofCast(((Cast) decimal).child(), type);
    if (decimal instanceof BinaryArithmetic) return ofArithmetic((BinaryArithmetic) decimal, type);
    if (decimal instanceof UnaryMinus) {
      UnscaledDecimal child = of(((UnaryMinus) decimal).child());
      return child == null
          ? null
          : new UnscaledDecimal(new UnaryMinus(child.expression, true), child.range.negated());
    }
    if (decimal instanceof Abs) {
      UnscaledDecimal child = of(((Abs) decimal).child());
      return child == null
          ? null
          : new UnscaledDecimal(
              new Abs(child.expression, true), child.range.with(child.range.negated()));
    }
    if (decimal instanceof If) return ofIf((If) decimal);
    if (decimal instanceof CaseWhen) return ofCases((CaseWhen) decimal);
    return decimal instanceof Coalesce ? ofFirst((Coalesce) decimal) : null;
  }

  private UnscaledDecimal ofColumn(Attribute column) {
    ValueRange range = columns.of(column, rows);
    return range == null ? null : new UnscaledDecimal(new UnscaledValue(column), range);
  }

  private static UnscaledDecimal ofLiteral(Literal literal) {
    if (literal.value() == null)
      return new UnscaledDecimal(new Literal(null, LongType$.MODULE$), ValueRange.of(0, 0));
    BigInteger unscaled = ((Decimal) literal.value()).toJavaBigDecimal().unscaledValue();
    ValueRange range = new ValueRange(unscaled, unscaled);
    if (!range.fitsLong() || ((Decimal) literal.value()).scale() != scale(literal)) return null;
    return new UnscaledDecimal(literal(unscaled.longValue()), range);
  }

  /** To a type that has all values of the other one. */
  private UnscaledDecimal ofCast(Expression child, DecimalType type) {
    int whole = type.precision() - type.scale();
    if (child.dataType() instanceof DecimalType) {
      DecimalType from = (DecimalType) child.dataType();
      if (whole < from.precision() - from.scale()) return null;
      return scaled(of(child), type.scale() - from.scale());
    }
    int digits = digits(child.dataType());
    if (digits == 0 || whole < digits) return null;
    ValueRange range =
        child instanceof Attribute ? columns.of((Attribute) child, rows) : ofType(child.dataType());
    if (range == null || !range.fitsLong()) return null;
    boolean isLong = child.dataType() instanceof LongType;
    Expression number =
        isLong
            ? child
            : new Cast(child, LongType$.MODULE$, ScalaConversions.none(), EvalMode$.MODULE$.ANSI());
    return scaled(new UnscaledDecimal(number, range), type.scale());
  }

  /** With so many digits more behind the point. */
  private static UnscaledDecimal scaled(UnscaledDecimal form, int digits) {
    if (form == null || digits < 0) return null;
    if (digits == 0) return form;
    BigInteger factor = BigInteger.TEN.pow(digits);
    ValueRange range = form.range.times(new ValueRange(factor, factor));
    if (!range.fitsLong() || factor.bitLength() > Long.SIZE - 1) return null;
    if (form.expression instanceof Literal && ((Literal) form.expression).value() != null) {
      return new UnscaledDecimal(literal(range.low.longValue()), range);
    }
    return new UnscaledDecimal(
        new Multiply(form.expression, literal(factor.longValue()), checked()), range);
  }

  private UnscaledDecimal ofArithmetic(BinaryArithmetic operation, DecimalType type) {
    UnscaledDecimal left = of(operation.left());
    UnscaledDecimal right = left == null ? null : of(operation.right());
    if (right == null) return null;
    DecimalType one = (DecimalType) operation.left().dataType();
    DecimalType other = (DecimalType) operation.right().dataType();
    if (operation instanceof Multiply) {
      if (type.scale() != one.scale() + other.scale()) return null;
      if (!holds(type, one.precision() + other.precision() + 1)) return null;
      return new UnscaledDecimal(
          new Multiply(left.expression, right.expression, checked()),
          left.range.times(right.range));
    }
    if (!(operation instanceof Add) && !(operation instanceof Subtract)) return null;
    int whole = Math.max(one.precision() - one.scale(), other.precision() - other.scale());
    if (!holds(type, type.scale() + whole + 1)) return null;
    left = scaled(left, type.scale() - one.scale());
    right = scaled(right, type.scale() - other.scale());
    if (left == null || right == null) return null;
    if (operation instanceof Add) {
      return new UnscaledDecimal(
          new Add(left.expression, right.expression, checked()), left.range.plus(right.range));
    }
    return new UnscaledDecimal(
        new Subtract(left.expression, right.expression, checked()),
        left.range.plus(right.range.negated()));
  }

  private static boolean holds(DecimalType type, int digits) {
    return type.precision() >= Math.min(digits, LONG_DIGITS);
  }

  private UnscaledDecimal ofIf(If choice) {
    UnscaledDecimal one = ofSame(choice.trueValue(), choice);
    UnscaledDecimal other = one == null ? null : ofSame(choice.falseValue(), choice);
    if (other == null) return null;
    return new UnscaledDecimal(
        new If(choice.predicate(), one.expression, other.expression), one.range.with(other.range));
  }

  private UnscaledDecimal ofCases(CaseWhen cases) {
    List<scala.Tuple2<Expression, Expression>> branches = new ArrayList<>();
    ValueRange range = null;
    for (int i = 0; i < cases.branches().size(); i++) {
      scala.Tuple2<Expression, Expression> branch = cases.branches().apply(i);
      UnscaledDecimal value = ofSame(branch._2(), cases);
      if (value == null) return null;
      range = range == null ? value.range : range.with(value.range);
      branches.add(new scala.Tuple2<>(branch._1(), value.expression));
    }
    if (cases.elseValue().isEmpty())
      return new UnscaledDecimal(
          new CaseWhen(ScalaConversions.seq(branches), ScalaConversions.none()), range);
    UnscaledDecimal otherwise = ofSame(cases.elseValue().get(), cases);
    if (otherwise == null) return null;
    return new UnscaledDecimal(
        new CaseWhen(ScalaConversions.seq(branches), new scala.Some<>(otherwise.expression)),
        range.with(otherwise.range));
  }

  private UnscaledDecimal ofFirst(Coalesce choice) {
    List<Expression> values = new ArrayList<>();
    ValueRange range = null;
    for (int i = 0; i < choice.children().size(); i++) {
      UnscaledDecimal value = ofSame(choice.children().apply(i), choice);
      if (value == null) return null;
      range = range == null ? value.range : range.with(value.range);
      values.add(value.expression);
    }
    return new UnscaledDecimal(new Coalesce(ScalaConversions.seq(values)), range);
  }

  /** Of one of the values that an expression chooses from, which has its type. */
  private UnscaledDecimal ofSame(Expression value, Expression choice) {
    return value.dataType().equals(choice.dataType()) ? of(value) : null;
  }

  private static int scale(Expression decimal) {
    return ((DecimalType) decimal.dataType()).scale();
  }

  /** Of the longest whole number of a type; 0: it has none. */
  private static int digits(DataType type) {
    if (type instanceof ByteType) return 3;
    if (type instanceof ShortType) return 5;
    if (type instanceof IntegerType) return 10;
    return type instanceof LongType ? LONG_DIGITS : 0;
  }

  /** What a column of the type may hold; null: no number, or one of more digits than are known. */
  static ValueRange ofType(DataType type) {
    if (type instanceof DecimalType) {
      int precision = ((DecimalType) type).precision();
      return precision < LONG_DIGITS ? ValueRange.ofDigits(precision) : null;
    }
    if (type instanceof ByteType) return ValueRange.of(Byte.MIN_VALUE, Byte.MAX_VALUE);
    if (type instanceof ShortType) return ValueRange.of(Short.MIN_VALUE, Short.MAX_VALUE);
    if (type instanceof IntegerType) return ValueRange.of(Integer.MIN_VALUE, Integer.MAX_VALUE);
    return type instanceof LongType ? ValueRange.of(Long.MIN_VALUE, Long.MAX_VALUE) : null;
  }
}
