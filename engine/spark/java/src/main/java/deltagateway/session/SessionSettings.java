package deltagateway.session;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Settings of a session, and copies of them with changes for one statement.
 *
 * <p>Statements of a session run at the same time, so no statement may change the session's
 * settings. A copy is never changed after its creation, and is shared by statements with the same
 * changes. A statement never changes a setting that the session's user has set.
 */
final class SessionSettings {
  /** Maximum number of copies: each changed setting has a few values only. */
  private static final int COPIES_MAX = 64;

  private final SparkSession spark;
  private final Set<String> userKeys = ConcurrentHashMap.newKeySet();
  private final Map<Map<String, String>, SQLConf> copies = new HashMap<>();
  private final AtomicLong changes = new AtomicLong();

  SessionSettings(SparkSession spark) {
    this.spark = spark;
  }

  void set(String key, String value) {
    userKeys.add(key);
    change(key, value);
  }

  void unset(String key) {
    userKeys.remove(key);
    change(() -> spark.conf().unset(key));
  }

  /**
   * Returns the number of changes that began: a setting that was changed and changed back has the
   * same value.
   */
  long changes() {
    return changes.get();
  }

  /** Returns true if the session's user has set it. */
  boolean hasSet(String key) {
    return userKeys.contains(key);
  }

  /** Sets a setting that the session's user has not chosen. */
  void change(String key, String value) {
    change(() -> spark.conf().set(key, value));
  }

  private void change(Runnable change) {
    synchronized (copies) {
      changes.incrementAndGet();
      change.run();
      copies.clear();
    }
  }

  /** Returns the session's settings with `changes`, except for keys that its user has set. */
  SQLConf with(Map<String, String> changes) {
    Map<String, String> applied = new HashMap<>(changes);
    applied.keySet().removeAll(userKeys);
    synchronized (copies) {
      SQLConf copy = copies.get(applied);
      if (copy != null) return copy;
      copy = with(spark.sessionState().conf(), applied);
      if (copies.size() >= COPIES_MAX) copies.clear();
      copies.put(applied, copy);
      return copy;
    }
  }

  /** Returns a copy of settings with changes. */
  static SQLConf with(SQLConf settings, Map<String, String> changes) {
    SQLConf copy = settings.clone();
    changes.forEach(copy::setConfString);
    return copy;
  }
}
