package deltagateway.analysis;

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
 * Puts the one time that a statement takes for now in the place of `current_timestamp()` and the
 * like. Spark does so for each query; a statement that runs several must mean the same rows in all
 * of them.
 */
public final class StatementTimestamp extends scala.runtime.AbstractPartialFunction {
  private static final long MICROS = TimeUnit.SECONDS.toMicros(1);
  private static final long NANOS = TimeUnit.MICROSECONDS.toNanos(1);

  private final long micros;

  /** `micros` since the epoch. */
  public StatementTimestamp(long micros) {
    this.micros = micros;
  }

  /** `plan` itself where it does not ask for the time. */
  public LogicalPlan fixed(LogicalPlan plan) {
    return plan.transformAllExpressionsWithSubqueries(this);
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof CurrentTimestamp
        || node instanceof Now
        || node instanceof CurrentDate
        || node instanceof CurrentTime
        || node instanceof LocalTimestamp
        || node instanceof CurrentTimestampNanos
        || node instanceof LocalTimestampNanos;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    return new Literal(value(node), ((Expression) node).dataType());
  }

  /**
   * As Spark keeps it: days of a date, microseconds of a timestamp, nanoseconds of a time, and both
   * of a timestamp with more than six digits, the last of which are zero here: a statement's time
   * has microseconds.
   */
  private Object value(Object asked) {
    if (asked instanceof CurrentTime) {
      CurrentTime time = (CurrentTime) asked;
      long nanos = DateTimeUtils.timestampToNanosOfDay(micros, time.zoneId());
      return Long.valueOf(DateTimeUtils.truncateTimeToPrecision(nanos, time.precision()));
    }
    if (asked instanceof CurrentTimestampNanos) {
      return DateTimeUtils.instantToTimestampNanos(
          instant(), ((CurrentTimestampNanos) asked).precision());
    }
    if (asked instanceof LocalTimestampNanos) {
      int precision = ((LocalTimestampNanos) asked).precision();
      return DateTimeUtils.localDateTimeToTimestampNanos(local(asked), precision);
    }
    if (asked instanceof CurrentDate)
      return Integer.valueOf((int) local(asked).toLocalDate().toEpochDay());
    if (!(asked instanceof LocalTimestamp)) return Long.valueOf(micros);
    LocalDateTime local = local(asked);
    return Long.valueOf(local.toEpochSecond(ZoneOffset.UTC) * MICROS + local.getNano() / NANOS);
  }

  private LocalDateTime local(Object asked) {
    return LocalDateTime.ofInstant(instant(), ((TimeZoneAwareExpression) asked).zoneId());
  }

  private Instant instant() {
    return Instant.ofEpochSecond(
        Math.floorDiv(micros, MICROS), Math.floorMod(micros, MICROS) * NANOS);
  }
}
