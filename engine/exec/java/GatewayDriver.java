package deltagateway;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.classic.SparkSession;

/** The process's one Spark, opening a session for each client. */
public final class GatewayDriver {
  private final SparkSession root;
  private final PlanGuard guard;

  /** `functions` and `tableFunctions` are the names that may be called, separated by blanks. */
  public GatewayDriver(SparkSession root, String functions, String tableFunctions) {
    this.root = root;
    this.guard = new PlanGuard(names(functions), names(tableFunctions));
  }

  private static Set names(String text) {
    return new HashSet(Arrays.asList((Object[]) text.toLowerCase(Locale.ROOT).split(" ")));
  }

  public GatewaySession openSession() {
    return new GatewaySession(root.newSession(), guard);
  }

  /** Loads what every query needs, so that the first one of a client does not wait for it. */
  public void warmUp() {
    root.range(0L, 1000L, 1L, 2).groupBy("id", new String[0]).count().collectAsList();
  }

  public void addJar(String path) {
    root.sparkContext().addJar(path);
  }
}
