package deltagateway.session;

import java.util.List;
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
 * Check of Spark's settings at its start. Spark reads some of them only when they are used: the
 * UI's port never without a UI.
 */
final class StartupSettings {
  /** Objects whose initialization registers settings by name. */
  static final List<Object> GROUPS =
      List.of(
          package$.MODULE$,
          UI$.MODULE$,
          Network$.MODULE$,
          Status$.MODULE$,
          Kryo$.MODULE$,
          Deploy$.MODULE$,
          Python$.MODULE$,
          Streaming$.MODULE$);

  private StartupSettings() {}

  /**
   * Throws if a value does not have its setting's type or range, with the setting's name in the
   * message.
   */
  static void ensureValid(SparkConf conf) {
    for (Tuple2<String, String> setting : conf.getAll()) {
      String key = setting._1();
      ConfigEntry<?> entry = ConfigEntry$.MODULE$.findEntry(key);
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
