package deltagateway;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.classic.SparkSession;

/** The process's one Spark, opening a session for each client. */
public final class GatewayDriver {
  /** Spark keeps every pool it ever heard of, so there are only so many. */
  private static final int POOLS = 32;

  private final AtomicInteger opened = new AtomicInteger();
  private final SparkSession root;
  private final PlanGuard guard;
  private final Questions questions;

  /**
   * `functions` and `tableFunctions` are the names that may be called, separated by blanks; Python answers questions at
   * `port`.
   */
  public GatewayDriver(SparkSession root, String functions, String tableFunctions, int port, String password) {
    this.root = root;
    this.questions = new Questions(port, password);
    this.guard = new PlanGuard(names(functions), names(tableFunctions));
    root.extensions().injectQueryStageOptimizerRule(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new JoinFilePruning((SparkSession) session);
      }
    });
    root.extensions().injectPlannerStrategy(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new MixedConditions();
      }
    });
    ParentWatch.start();
  }

  private static Set names(String text) {
    return new HashSet(Arrays.asList((Object[]) text.toLowerCase(Locale.ROOT).split(" ")));
  }

  public GatewaySession openSession() {
    String pool = "sessions " + Math.floorMod(opened.getAndIncrement(), POOLS);
    return new GatewaySession(root.newSession(), guard, pool, questions);
  }

  /** Loads what every query needs, so that the first one of a client does not wait for it. */
  public void warmUp() {
    root.range(0L, 1000L, 1L, 2).groupBy("id", new String[0]).count().collectAsList();
  }

  /** Sends our classes to executors in other processes; those in this one have them. */
  public void shareClasses(String jar) {
    if (!root.sparkContext().isLocal()) root.sparkContext().addJar(jar);
  }
}
