package deltagateway.protocol;

import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * Rejection of a statement by the gateway itself: a kind that Python translates into one of its
 * conditions, and the name of the rejected object.
 */
public final class RejectionException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String kind;
  private final String subject;
  private final transient Origin origin;

  public RejectionException(String kind, String subject) {
    this(kind, subject, null);
  }

  /** `origin` is the position in the text that Spark parsed; null: unknown. */
  public RejectionException(String kind, String subject, Origin origin) {
    super(kind + ": " + subject);
    this.kind = kind;
    this.subject = subject;
    this.origin = origin;
  }

  /** Returns null if the position is unknown. */
  public Origin origin() {
    return origin;
  }

  public String kind() {
    return kind;
  }

  public String subject() {
    return subject;
  }
}
