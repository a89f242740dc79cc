package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.orNull;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion$;
import org.apache.spark.sql.catalyst.analysis.TypeCoercion$;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NullType$;
import scala.Some;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Converts `x IN (1, 2, …)` with a long list of literals in a condition into the set of values that
 * Spark's optimizer would make of it (OptimizeIn).
 *
 * <p>Each literal is a node that all rules of Spark's analyzer and optimizer visit, and that type
 * coercion wraps in a cast: seconds for a hundred thousand. So {@link Hide} removes the list from
 * the plan before it is analyzed, and {@link Restore} adds it again as a set once the type of `x`
 * is resolved, with the values in the type in which Spark compares them. In other cases (no common
 * type, a value that fails its cast, strings with a collation or of type CHAR) the list itself is
 * restored, so Spark returns its usual result or error.
 */
public final class LargeInLists {
  private static final int VALUES_MIN = 1000;
  private static final Set<String> PLAIN =
      Set.of(
          "boolean",
          "tinyint",
          "smallint",
          "int",
          "bigint",
          "float",
          "double",
          "date",
          "timestamp",
          "timestamp_ntz",
          "binary",
          "string",
          "void");

  private LargeInLists() {}

  /** Hides lists in conditions; elsewhere the name of a column contains the list. */
  public static final class Hide extends SwitchedRule<LogicalPlan> {
    public Hide() {
      super(OptimizerRule.LARGE_IN_LISTS);
    }

    @Override
    LogicalPlan rewritePlan(LogicalPlan plan) {
      return inConditions(plan, LargeInLists::hidden);
    }
  }

  /** Restores hidden lists. It has no switch: a plan may have been parsed before one changed. */
  public static final class Restore extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return inConditions(plan, LargeInLists::restored);
    }
  }

  private static LogicalPlan inConditions(LogicalPlan plan, UnaryOperator<Expression> change) {
    return plan.resolveOperatorsUp(
        rewrite(
            node ->
                node instanceof Filter || node instanceof Join
                    ? node.transformExpressionsUp(rewrite(change::apply))
                    : node));
  }

  private static Expression hidden(Expression expression) {
    return expression instanceof In in
            && in.list().size() >= VALUES_MIN
            && list(in.list()).stream().allMatch(Literal.class::isInstance)
        ? new OpaqueIn(in.value(), in.list())
        : expression;
  }

  private static Expression restored(Expression expression) {
    if (!(expression instanceof OpaqueIn hidden) || !hidden.value.resolved()) return expression;
    Expression set = set(hidden.value, list(hidden.list));
    return set == null ? new In(hidden.value, hidden.list) : set;
  }

  /** Returns null if only Spark's own rules handle the list correctly. */
  private static Expression set(Expression value, List<Expression> literals) {
    Set<DataType> types = new LinkedHashSet<>();
    types.add(value.dataType());
    literals.forEach(each -> types.add(each.dataType()));
    if (!types.stream().allMatch(LargeInLists::isPlain)) return null;
    boolean hasChar =
        list(value.references().toSeq()).stream()
            .anyMatch(column -> CharVarcharUtils.getRawType(column.metadata()).isDefined());
    DataType common = types.size() == 1 ? value.dataType() : commonType(new ArrayList<>(types));
    if (hasChar || common == null || common == NullType$.MODULE$) return null;
    Set<Object> values = new HashSet<>();
    try {
      literals.forEach(each -> values.add(cast(each, common).eval(null)));
    } catch (RuntimeException failed) {
      return null;
    }
    return new InSet(cast(value, common), CollectionConverters.asScala(values).toSet());
  }

  private static boolean isPlain(DataType type) {
    return type instanceof DecimalType || PLAIN.contains(type.simpleString());
  }

  /** Returns the type of Spark's rule for IN; null if there is none. */
  private static DataType commonType(List<DataType> types) {
    return orNull(
        SQLConf.get().ansiEnabled()
            ? AnsiTypeCoercion$.MODULE$.findWiderCommonType(seq(types))
            : TypeCoercion$.MODULE$.findWiderCommonType(seq(types)));
  }

  private static Expression cast(Expression value, DataType type) {
    if (value.dataType().equals(type)) return value;
    SQLConf settings = SQLConf.get();
    return Cast$.MODULE$.apply(
        value, type, new Some<>(settings.sessionLocalTimeZone()), settings.ansiEnabled());
  }
}
