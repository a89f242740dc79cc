package deltagateway.protocol;

import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * What the engine itself refuses, as a kind that Python turns into one of its named errors, and the
 * thing refused.
 */
public final class RejectionException extends RuntimeException {
  private final String kind;
  private final String subject;
  private final transient Origin origin;

  public RejectionException(String kind, String subject) {
    this(kind, subject, null);
  }

  /** `origin` is the place in the text that Spark parsed; null: unknown. */
  public RejectionException(String kind, String subject, Origin origin) {
    super(kind + ": " + subject);
    this.kind = kind;
    this.subject = subject;
    this.origin = origin;
  }

  /** Null if the place is unknown. */
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
