package deltagateway.session;

import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.internal.config.Deploy$;
import org.apache.spark.internal.config.Kryo$;
import org.apache.spark.internal.config.Network$;
import org.apache.spark.internal.config.Python$;
import org.apache.spark.internal.config.Status$;
import org.apache.spark.internal.config.Streaming$;
import org.apache.spark.internal.config.UI$;
import org.apache.spark.internal.config.package$;
import scala.Tuple2;

/**
 * Spark's own settings at its start, of which it reads some only when they are used: a UI's port
 * without a UI never.
 */
public final class StartupSettings {
  /** Registers settings by name, when this class is initialized. */
  static final Object[] GROUPS = {
    package$.MODULE$,
    UI$.MODULE$,
    Network$.MODULE$,
    Status$.MODULE$,
    Kryo$.MODULE$,
    Deploy$.MODULE$,
    Python$.MODULE$,
    Streaming$.MODULE$
  };

  private StartupSettings() {}

  /**
   * Throws for a value that is not of its setting's type or range, with the setting's name in the
   * message.
   */
  static void ensureValid(SparkConf conf) {
    Tuple2[] all = conf.getAll();
    for (int i = 0; i < all.length; i++) {
      String key = (String) all[i]._1();
      ConfigEntry entry = ConfigEntry$.MODULE$.findEntry(key);
      if (entry == null) continue;
      try {
        conf.get(entry);
      } catch (RuntimeException invalid) {
        String message = String.valueOf(invalid.getMessage());
        throw new IllegalArgumentException(
            message.contains(key) ? message : key + ": " + message, invalid);
      }
    }
  }
}
