package deltagateway.session;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The settings of a session, and copies of them with changes that hold for one statement alone.
 *
 * <p>Statements of a session run at the same time, so none of them may change the session's own. A
 * copy is never changed once it was handed out, and is shared by the statements that ask for the
 * same changes; what the session set itself is not changed for a statement.
 */
public final class SessionSettings {
  /**
   * There are some choices of each setting that is changed, not as many as there are statements.
   */
  private static final int COPIES_MAX = 64;

  private final SparkSession spark;
  private final Set<Object> own = ConcurrentHashMap.newKeySet();
  private final Map<Map<String, String>, SQLConf> copies = new HashMap<>();
  private final AtomicLong changes = new AtomicLong();

  SessionSettings(SparkSession spark) {
    this.spark = spark;
  }

  void set(String key, String value) {
    own.add(key);
    change(key, value);
  }

  void unset(String key) {
    own.remove(key);
    synchronized (copies) {
      changes.incrementAndGet();
      spark.conf().unset(key);
      copies.clear();
    }
  }

  /**
   * How often the session was changed, or began to be: also there and back, which its settings do
   * not tell.
   */
  long changes() {
    return changes.get();
  }

  boolean hasSet(String key) {
    return own.contains(key);
  }

  /** Sets what is no choice of the session's user. */
  void change(String key, String value) {
    synchronized (copies) {
      changes.incrementAndGet();
      spark.conf().set(key, value);
      copies.clear();
    }
  }

  /** Those of the session with `changes`, key -> value, but for keys that it set. */
  SQLConf with(Map<String, String> changes) {
    Map<String, String> made = new HashMap<>(changes);
    made.keySet().removeAll(own);
    synchronized (copies) {
      SQLConf copy = copies.get(made);
      if (copy != null) return copy;
      copy = spark.sessionState().conf().clone();
      for (Map.Entry<String, String> entry : made.entrySet()) {
        copy.setConfString(entry.getKey(), entry.getValue());
      }
      if (copies.size() >= COPIES_MAX) copies.clear();
      copies.put(made, copy);
      return copy;
    }
  }
}
