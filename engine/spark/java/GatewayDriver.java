package deltagateway;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import py4j.GatewayServer;

/** The process's one Spark, opening a session for each client. */
public final class GatewayDriver {
  private static final long EVENTS_MS = 1000L;

  private final SparkSession root;
  private final PlanGuard guard;
  private final Questions questions;
  private final MemoryGuard memory;
  private final TaskCounts tasks = new TaskCounts();
  private final ExecutedPlans executed = new ExecutedPlans();
  private final KeptPlans plans = new KeptPlans();
  private final LeftTasks left;
  private final Thread scheduler;

  /**
   * `functions` and `tableFunctions` are the names that may be called, `expressions` the classes that plans may hold,
   * each separated by blanks; Python answers questions at `port`. `calls` is what Python calls Java by.
   */
  public GatewayDriver(
      SparkSession root,
      GatewayServer calls,
      String functions,
      String tableFunctions,
      String expressions,
      int port,
      String password) {
    this.root = root;
    StartSettings.ensureValid(root.sparkContext().getConf());
    PromptAnswers.by(calls);
    this.questions = new Questions(port, password);
    Leases.answeredBy(questions);
    StageIds.haveOneLength(root.sparkContext());
    this.guard = new PlanGuard(names(functions), names(tableFunctions), names(expressions));
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
    root.extensions().injectPlannerStrategy(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new WholeSamples();
      }
    });
    root.extensions().injectPreCBORule(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new EstimatedScans();
      }
    });
    scala.runtime.AbstractFunction1<org.apache.spark.sql.SparkSession, Rule<LogicalPlan>> stillWanted = new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new StillWanted();
      }
    };
    root.extensions().injectHintResolutionRule(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return LongInLists.hidden();
      }
    });
    root.extensions().injectResolutionRule(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return LongInLists.settled();
      }
    });
    root.extensions().injectResolutionRule(stillWanted);
    root.extensions().injectOptimizerRule(stillWanted);
    root.extensions().injectColumnar(new scala.runtime.AbstractFunction1() {
      public Object apply(Object session) {
        return new StoppableTasks();
      }
    });
    this.memory = new MemoryGuard(root.sparkContext(), this);
    this.left = new LeftTasks(root.sparkContext(), tasks);
    this.scheduler = thread("dag-scheduler-event-loop");
    root.sparkContext().addSparkListener(tasks);
    root.sparkContext().addSparkListener(executed);
    ParentWatch.start();
    memory.start();
  }

  /** A thread by its name; null where there is none, as after a Spark upgrade that names it otherwise. */
  private static Thread thread(String name) {
    Thread[] all = new Thread[Thread.activeCount() * 2 + 16];
    int count = Thread.enumerate(all);
    for (int i = 0; i < count; i++) {
      if (all[i].getName().equals(name)) return all[i];
    }
    return null;
  }

  /** Why Spark is of no more use, or an empty text. Its scheduler's thread dies of an error such as a full heap. */
  public String illness() {
    if (root.sparkContext().isStopped()) return "its context stopped";
    return scheduler != null && !scheduler.isAlive() ? "its scheduler died" : "";
  }

  /** See {@link LeftTasks#statements}. */
  public String leftStatements() {
    return left.statements();
  }

  /** Of the statements with these ids, separated by blanks; see {@link TaskCounts#lines}. */
  public String taskCounts(String ids) {
    return tasks.lines(ids);
  }

  /** Used, committed and largest bytes of the heap, those of kept columns, ms in collections, {@link TaskCounts#totals}. */
  public String vitals() {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    long collecting = 0L;
    Iterator<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans().iterator();
    while (collectors.hasNext()) {
      collecting += Math.max(0L, collectors.next().getCollectionTime());
    }
    String sizes = heap.getUsed() + " " + heap.getCommitted() + " " + heap.getMax();
    return sizes + " " + KeptColumns.bytesHere() + " " + collecting + " " + tasks.totals();
  }

  /** From now on the statement's jobs are kept until {@link #jobs} is called. */
  public void follow(String id) {
    tasks.follow(id);
  }

  /** See {@link TaskCounts#jobs}; waits shortly for what Spark has yet to tell. */
  public String jobs(String id) throws InterruptedException {
    try {
      root.sparkContext().listenerBus().waitUntilEmpty(EVENTS_MS);
    } catch (TimeoutException late) {
      return tasks.jobs(id); // what is known by now
    }
    return tasks.jobs(id);
  }

  /** See {@link ExecutedPlans#json}; waits shortly for metrics of the last tasks. */
  public String executedPlans(String id) throws InterruptedException {
    try {
      root.sparkContext().listenerBus().waitUntilEmpty(EVENTS_MS);
    } catch (TimeoutException late) {
      return executed.json(root.sharedState().statusStore(), id, plans.repeatedBy(id));
    }
    return executed.json(root.sharedState().statusStore(), id, plans.repeatedBy(id));
  }

  private static Set<String> names(String text) {
    return new HashSet<>(Arrays.asList(text.split(" ")));
  }

  public GatewaySession openSession() {
    return new GatewaySession(root.newSession(), root.sessionState().conf(), guard, questions, memory, tasks, plans);
  }

  /** Returns JSON about Spark's functions and keywords. */
  public String functionInfos() throws Exception {
    return FunctionInfos.json();
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
