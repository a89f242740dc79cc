package deltagateway.analysis;

import deltagateway.internals.ScalaConversions;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTime;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampNanos;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.LocalTimestampNanos;
import org.apache.spark.sql.catalyst.expressions.Now;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/**
 * Replaces functions of the current time by the statement's time. Spark does so for each query; all
 * queries of one statement must have the same time.
 */
public final class StatementTimestamp {
  private static final long MICROS = TimeUnit.SECONDS.toMicros(1);
  private static final long NANOS = TimeUnit.MICROSECONDS.toNanos(1);

  private final long micros;

  /** `micros` since the epoch. */
  public StatementTimestamp(long micros) {
    this.micros = micros;
  }

  /** Returns `plan` itself if it has no function of the current time. */
  public LogicalPlan fix(LogicalPlan plan) {
    return plan.transformAllExpressionsWithSubqueries(
        ScalaConversions.rewrite(
            expression -> {
              Object value = value(expression);
              return value == null ? expression : new Literal(value, expression.dataType());
            }));
  }

  /**
   * Returns Spark's internal value of a function: days of a date, microseconds of a timestamp,
   * nanoseconds of a time, and both of a timestamp with more than six digits, the last of which are
   * zero here. Null for other expressions.
   */
  private Object value(Expression function) {
    if (function instanceof CurrentTimestamp || function instanceof Now) return micros;
    if (function instanceof CurrentDate date) return (int) local(date).toLocalDate().toEpochDay();
    if (function instanceof LocalTimestamp timestamp) {
      LocalDateTime local = local(timestamp);
      return local.toEpochSecond(ZoneOffset.UTC) * MICROS + local.getNano() / NANOS;
    }
    if (function instanceof CurrentTime time) {
      long nanos = DateTimeUtils.timestampToNanosOfDay(micros, time.zoneId());
      return DateTimeUtils.truncateTimeToPrecision(nanos, time.precision());
    }
    if (function instanceof CurrentTimestampNanos timestamp)
      return DateTimeUtils.instantToTimestampNanos(instant(), timestamp.precision());
    if (function instanceof LocalTimestampNanos timestamp)
      return DateTimeUtils.localDateTimeToTimestampNanos(local(timestamp), timestamp.precision());
    return null;
  }

  private LocalDateTime local(TimeZoneAwareExpression function) {
    return LocalDateTime.ofInstant(instant(), function.zoneId());
  }

  private Instant instant() {
    return Instant.ofEpochSecond(
        Math.floorDiv(micros, MICROS), Math.floorMod(micros, MICROS) * NANOS);
  }
}
