package deltagateway;

/** What the engine itself refuses, as a kind that Python turns into one of its named errors, and the thing refused. */
public final class Refusal extends RuntimeException {
  private final String kind;
  private final String subject;

  Refusal(String kind, String subject) {
    super(kind + ": " + subject);
    this.kind = kind;
    this.subject = subject;
  }

  public String kind() {
    return kind;
  }

  public String subject() {
    return subject;
  }
}
