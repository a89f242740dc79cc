package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.io.Serializable;
import java.math.BigInteger;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.LongType$;

/**
 * Generates the values of an identity column without coordination between tasks: of P tasks, the
 * p-th takes every P-th value, beginning with the p-th. A task has its own copy, which counts its
 * rows.
 *
 * <p>Only the successful attempt of a task has files, so an attempt may generate the values of a
 * failed one again. That holds in the stage that writes and in no earlier one.
 */
public final class IdentityColumnValues implements Serializable {
  private static final long serialVersionUID = 1;

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

  String column() {
    return column;
  }

  /**
   * Returns a value for each row; not deterministic, so that Spark neither moves nor repeats it.
   */
  Expression value() {
    return new Invoke(
        Literal$.MODULE$.fromObject(this),
        "next",
        LongType$.MODULE$,
        ScalaConversions.emptySeq(),
        ScalaConversions.emptySeq(),
        false,
        false,
        false);
  }

  /** Fails if the value does not fit into 64 bits. */
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
    BigInteger number = BigInteger.valueOf(task == null ? 0 : task.partitionId());
    BigInteger tasks = BigInteger.valueOf(task == null ? 1 : task.numPartitions());
    BigInteger value = BigInteger.valueOf(first).add(BigInteger.valueOf(step).multiply(number));
    BigInteger distance = BigInteger.valueOf(step).multiply(tasks);
    BigInteger last = BigInteger.valueOf(step > 0 ? Long.MAX_VALUE : Long.MIN_VALUE);
    BigInteger room = last.subtract(value);
    boolean fits = room.signum() == 0 || room.signum() == distance.signum();
    BigInteger count = fits ? room.divide(distance).add(BigInteger.ONE) : BigInteger.ZERO;
    left = count.min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
    next = value.longValue();
    stride = distance.longValue();
    hasBegun = true;
  }

  // Literals with equal values are exchangeable for Spark; two columns must not share a counter.
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  @Override
  public String toString() {
    return "IdentityColumnValues";
  }
}
