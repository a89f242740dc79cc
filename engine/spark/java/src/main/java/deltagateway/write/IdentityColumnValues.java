package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.LongType$;

/**
 * The values of an identity column, without a word between tasks: of P tasks the p-th takes every
 * P-th value of the grid, beginning with the p-th. A task has its own copy, which counts its rows.
 *
 * <p>Only the attempt of a task that succeeds has files, so an attempt may give the values of a
 * failed one again. That holds in the stage that writes and in no earlier one.
 */
public final class IdentityColumnValues implements Serializable {
  private final String column;
  private final long first;
  private final long step;

  private transient boolean hasBegun;
  private transient long next;
  private transient long stride;
  private transient long left;

  IdentityColumnValues(String column, long first, long step) {
    this.column = column;
    this.first = first;
    this.step = step;
  }

  /** A value for each row; not deterministic, so that Spark neither moves nor repeats it. */
  Expression value() {
    return new Invoke(
        Literal$.MODULE$.fromObject(this),
        "next",
        LongType$.MODULE$,
        ScalaConversions.seq(new ArrayList<>()),
        ScalaConversions.seq(new ArrayList<>()),
        false,
        false,
        false);
  }

  /** Raises where the value does not fit into 64 bits. */
  public long next() {
    if (!hasBegun) begin();
    if (left == 0) throw new RejectionException("identity values", column);
    left--;
    long value = next;
    next += stride;
    return value;
  }

  private void begin() {
    TaskContext task = TaskContext.get();
    long number = task == null ? 0 : task.partitionId();
    long tasks = task == null ? 1 : task.numPartitions();
    BigInteger value =
        BigInteger.valueOf(first)
            .add(BigInteger.valueOf(step).multiply(BigInteger.valueOf(number)));
    BigInteger distance = BigInteger.valueOf(step).multiply(BigInteger.valueOf(tasks));
    BigInteger last = BigInteger.valueOf(step > 0 ? Long.MAX_VALUE : Long.MIN_VALUE);
    BigInteger room = last.subtract(value);
    boolean fits = room.signum() == 0 || room.signum() == distance.signum();
    left =
        fits
            ? room.divide(distance)
                .add(BigInteger.ONE)
                .min(BigInteger.valueOf(Long.MAX_VALUE))
                .longValue()
            : 0;
    next = value.longValue();
    stride = distance.longValue();
    hasBegun = true;
  }

  public boolean equals(Object other) {
    return this == other;
  }

  public int hashCode() {
    return System.identityHashCode(this);
  }

  public String toString() {
    return "IdentityColumnValues";
  }
}
