package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.none;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.TruncDate;
import org.apache.spark.sql.catalyst.expressions.TruncTimestamp;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.TimestampType;
import scala.Some;

/**
 * Groups rows by the month (week, quarter, year) of a date as a date, and converts it to a
 * timestamp once per group. For `date_trunc('month', d)` Spark converts each row's date to a
 * timestamp by the rules of the session's time zone, that to a date, and its month to a timestamp.
 *
 * <p>The result is the same if each date begins in the time zone. The rule does not apply in zones
 * that skipped a day, such as those that moved across the date line.
 */
public final class DateGroupingKeys extends SwitchedRule<LogicalPlan> {
  private static final Set<String> UNITS =
      Set.of("YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MON", "MM", "WEEK");
  private static final Duration DAY = Duration.ofDays(1);

  public DateGroupingKeys() {
    super(OptimizerRule.DATE_GROUPING_KEYS);
  }

  @Override
  LogicalPlan rewritePlan(LogicalPlan optimized) {
    return optimized.transformDownWithSubqueries(
        rewrite(
            plan ->
                plan instanceof Aggregate aggregate && aggregate.child() instanceof Project project
                    ? rewriteAggregate(aggregate, project)
                    : plan));
  }

  private static LogicalPlan rewriteAggregate(Aggregate plan, Project child) {
    // Id of a grouping column -> the timestamp, of the new column with the date.
    Map<ExprId, Cast> timestamps = new HashMap<>();
    List<NamedExpression> columns = new ArrayList<>();
    for (NamedExpression column : list(child.projectList())) {
      columns.add(isKey(column, plan) ? asDate((Alias) column, timestamps) : column);
    }
    if (timestamps.isEmpty()) return plan;
    List<Expression> keys =
        list(plan.groupingExpressions()).stream().map(key -> dateKey(key, timestamps)).toList();
    List<NamedExpression> results =
        list(plan.aggregateExpressions()).stream().map(each -> result(each, timestamps)).toList();
    return plan.copy(
        seq(keys), seq(results), new Project(seq(columns), child.child()), plan.hint());
  }

  private static Expression dateKey(Expression key, Map<ExprId, Cast> timestamps) {
    Cast timestamp = key instanceof Attribute column ? timestamps.get(column.exprId()) : null;
    return timestamp == null ? key : timestamp.child();
  }

  /** Returns whether rows are grouped by a column that truncates a date as a timestamp. */
  private static boolean isKey(NamedExpression column, Aggregate plan) {
    if (!(column instanceof Alias alias) || !(alias.child() instanceof TruncTimestamp key)) {
      return false;
    }
    if (!(key.format() instanceof Literal unit) || !(key.timestamp() instanceof Cast timestamp)) {
      return false;
    }
    boolean isUnit =
        unit.value() != null && UNITS.contains(unit.value().toString().toUpperCase(Locale.ROOT));
    boolean isOfDate =
        timestamp.child().dataType() instanceof DateType
            && timestamp.dataType() instanceof TimestampType;
    boolean isInOneZone =
        timestamp.timeZoneId().isDefined() && timestamp.timeZoneId().equals(key.timeZoneId());
    boolean isGrouped =
        list(plan.groupingExpressions()).stream()
            .anyMatch(
                each ->
                    each instanceof Attribute grouped && grouped.exprId().equals(column.exprId()));
    return isUnit && isOfDate && isInOneZone && isGrouped && hasAllDays(timestamp.timeZoneId());
  }

  private static boolean hasAllDays(scala.Option<String> zone) {
    return DateTimeUtils.getZoneId(zone.get()).getRules().getTransitions().stream()
        .allMatch(transition -> transition.getDuration().compareTo(DAY) < 0);
  }

  /** Returns the column that replaces a key, and adds the timestamp of the former to the map. */
  private static Alias asDate(Alias column, Map<ExprId, Cast> timestamps) {
    var key = (TruncTimestamp) column.child();
    var timestamp = (Cast) key.timestamp();
    Expression date = new TruncDate(timestamp.child(), key.format());
    Alias replacement =
        new Alias(
            date,
            column.name(),
            NamedExpression$.MODULE$.newExprId(),
            emptySeq(),
            none(),
            emptySeq());
    timestamps.put(
        column.exprId(),
        timestamp.copy(
            replacement.toAttribute(),
            timestamp.dataType(),
            timestamp.timeZoneId(),
            timestamp.evalMode()));
    return replacement;
  }

  private static NamedExpression result(NamedExpression result, Map<ExprId, Cast> timestamps) {
    if (!(result instanceof Attribute column)) {
      Expression expression = (Expression) result;
      return (NamedExpression)
          expression.transformUp(
              rewrite(
                  node ->
                      node instanceof Attribute each && timestamps.containsKey(each.exprId())
                          ? timestamps.get(each.exprId())
                          : node));
    }
    Cast timestamp = timestamps.get(column.exprId());
    if (timestamp == null) return result;
    return new Alias(
        timestamp,
        column.name(),
        column.exprId(),
        column.qualifier(),
        new Some<>(column.metadata()),
        emptySeq());
  }
}
