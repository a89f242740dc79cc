package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.time.Duration;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
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
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.TimestampType;

/**
 * Rows that are grouped by the month (week, quarter, year) of a date, as `date_trunc('month', d)`:
 * Spark makes a timestamp of each row's date, with the rules of the session's zone, a date of that,
 * and of its month a timestamp again. Here they are grouped by the month as a date, and each
 * group's is made a timestamp.
 *
 * <p>That is the same where each date has a beginning in the zone. Zones that left out a day, as
 * those that moved over the date line, stay with Spark's way.
 */
public final class DateGroupingKeys extends scala.runtime.AbstractPartialFunction {
  private static final Set<String> UNITS =
      new HashSet<>(Arrays.asList("YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MON", "MM", "WEEK"));
  private static final Duration DAY = Duration.ofDays(1);

  /** The optimized plan with such keys as dates; itself where there is none. */
  public static LogicalPlan in(LogicalPlan optimized) {
    return optimized.transformDownWithSubqueries(new DateGroupingKeys());
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Aggregate && ((Aggregate) node).child() instanceof Project;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    Aggregate plan = (Aggregate) node;
    Project child = (Project) plan.child();
    Map<ExprId, Expression> timestamps = new HashMap<>();
    List<NamedExpression> columns = new ArrayList<>();
    for (int i = 0; i < child.projectList().size(); i++) {
      NamedExpression column = child.projectList().apply(i);
      columns.add(isKey(column, plan) ? asDate((Alias) column, timestamps) : column);
    }
    if (timestamps.isEmpty()) return node;
    List<Expression> keys = new ArrayList<>();
    for (Iterator<Expression> all = ScalaConversions.list(plan.groupingExpressions()).iterator();
        all.hasNext(); ) {
      Expression key = all.next();
      Cast timestamp =
          key instanceof Attribute ? (Cast) timestamps.get(((Attribute) key).exprId()) : null;
      keys.add(timestamp == null ? key : timestamp.child());
    }
    List<NamedExpression> results = new ArrayList<>();
    for (Iterator<NamedExpression> all =
            ScalaConversions.list(plan.aggregateExpressions()).iterator();
        all.hasNext(); ) {
      results.add(result(all.next(), timestamps));
    }
    return plan.copy(
        ScalaConversions.seq(keys),
        ScalaConversions.seq(results),
        new Project(ScalaConversions.seq(columns), child.child()),
        plan.hint());
  }

  /** Whether rows are grouped by a column that is the beginning of a time of a date. */
  private static boolean isKey(NamedExpression column, Aggregate plan) {
    if (!(column instanceof Alias) || !(((Alias) column).child() instanceof TruncTimestamp))
      return false;
    TruncTimestamp key = (TruncTimestamp) ((Alias) column).child();
    if (!(key.format() instanceof Literal) || !(key.timestamp() instanceof Cast)) return false;
    Cast timestamp = (Cast) key.timestamp();
    Object unit = ((Literal) key.format()).value();
    if (unit == null || !UNITS.contains(unit.toString().toUpperCase(Locale.ROOT))) return false;
    if (!(timestamp.child().dataType() instanceof DateType)
        || !(timestamp.dataType() instanceof TimestampType)) return false;
    if (timestamp.timeZoneId().isEmpty() || !timestamp.timeZoneId().equals(key.timeZoneId()))
      return false;
    boolean groups = false;
    for (Iterator<Expression> all = ScalaConversions.list(plan.groupingExpressions()).iterator();
        all.hasNext(); ) {
      Expression each = all.next();
      groups |= each instanceof Attribute && ((Attribute) each).exprId().equals(column.exprId());
    }
    return groups && hasAllDays(timestamp.timeZoneId().get());
  }

  private static boolean hasAllDays(String zone) {
    ZoneId rules = DateTimeUtils.getZoneId(zone);
    for (Iterator<ZoneOffsetTransition> all = rules.getRules().getTransitions().iterator();
        all.hasNext(); ) {
      if (all.next().getDuration().compareTo(DAY) >= 0) return false;
    }
    return true;
  }

  /**
   * The column that takes its place; `timestamps` gets, by the id of the former, what it was made
   * of the new one.
   */
  private static Alias asDate(Alias column, Map<ExprId, Expression> timestamps) {
    TruncTimestamp key = (TruncTimestamp) column.child();
    Cast timestamp = (Cast) key.timestamp();
    Expression date = new TruncDate(timestamp.child(), key.format());
    scala.collection.immutable.Seq<String> nothing = ScalaConversions.seq(new ArrayList<>());
    Alias made =
        new Alias(
            date,
            column.name(),
            NamedExpression$.MODULE$.newExprId(),
            nothing,
            ScalaConversions.none(),
            nothing);
    timestamps.put(
        column.exprId(),
        timestamp.copy(
            made.toAttribute(),
            timestamp.dataType(),
            timestamp.timeZoneId(),
            timestamp.evalMode()));
    return made;
  }

  private static NamedExpression result(
      NamedExpression result, Map<ExprId, Expression> timestamps) {
    if (result instanceof Attribute) {
      Expression timestamp = timestamps.get(result.exprId());
      if (timestamp == null) return result;
      Attribute column = (Attribute) result;
      scala.Option<Metadata> metadata = new scala.Some<>(column.metadata());
      return new Alias(
          timestamp,
          column.name(),
          column.exprId(),
          column.qualifier(),
          metadata,
          ScalaConversions.seq(new ArrayList<>()));
    }
    return (NamedExpression) ((Expression) result).transformUp(new Timestamps(timestamps));
  }

  private static final class Timestamps extends scala.runtime.AbstractPartialFunction {
    private final Map<ExprId, Expression> timestamps;

    Timestamps(Map<ExprId, Expression> timestamps) {
      this.timestamps = timestamps;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof Attribute && timestamps.containsKey(((Attribute) node).exprId());
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return isDefinedAt(node)
          ? timestamps.get(((Attribute) node).exprId())
          : otherwise.apply(node);
    }
  }
}
