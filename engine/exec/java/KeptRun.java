package deltagateway;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;

/**
 * What a query of one stage came to when it ran: tasks with their code, over files. Run again over the same files it
 * gives the same rows, as a Dataset of Spark that is collected twice does; nothing is planned, and no code is made, which
 * for a small query takes as long as its task.
 *
 * It belongs to a kept plan ({@link KeptPlans}), so all that the plan follows from is the same; and the log of each scan
 * is asked the same questions again, so the files are, with their sizes, times and constants (deletion vectors among
 * them). Tasks never change it: each has a copy of its own. Not kept is what holds data (broadcasts, shuffles, results of
 * subqueries), what is changed while it runs, and what reads with lent credentials, for which a statement is named.
 */
final class KeptRun {
  private static final int FILES_MAX = 100;

  private final RDD rows;
  /** Scan -> what its {@link FileListing} was asked, with the answers. */
  private final Map asked;

  private KeptRun(RDD rows, Map asked) {
    this.rows = rows;
    this.asked = asked;
  }

  /** Of a plan that was executed over `files`, scan -> {@link ListedFileIndex}; null where it may not be kept. */
  static KeptRun of(SparkPlan plan, RDD rows, Map files) {
    if (!isPlain(plan) || shuffles(rows)) return null;
    Map asked = new HashMap();
    long count = 0;
    for (Iterator all = files.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry entry = (Map.Entry) all.next();
      ListedFileIndex index = (ListedFileIndex) entry.getValue();
      if (index.scan().lease != null) return null;
      List questions = index.listing().asked();
      for (int i = 0; i < questions.size(); i++) count += ((FileListing.Asked) questions.get(i)).answer.count();
      asked.put(entry.getKey(), questions);
    }
    return count > FILES_MAX ? null : new KeptRun(rows, asked);
  }

  /** Its only leaves are scans of ours; nothing in it has results of its own. */
  private static boolean isPlain(SparkPlan plan) {
    boolean holdsData = plan instanceof Exchange || plan instanceof ReusedExchangeExec;
    if (holdsData || plan instanceof AdaptiveSparkPlanExec || !plan.subqueries().isEmpty()) return false;
    List children = Scala.list(plan.children());
    if (children.isEmpty()) return NarrowedScan.isOurs(plan);
    for (int i = 0; i < children.size(); i++) if (!isPlain((SparkPlan) children.get(i))) return false;
    return true;
  }

  private static boolean shuffles(RDD rows) {
    List dependencies = Scala.list(rows.dependencies());
    for (int i = 0; i < dependencies.size(); i++) {
      Dependency each = (Dependency) dependencies.get(i);
      if (each instanceof ShuffleDependency || shuffles(each.rdd())) return true;
    }
    return false;
  }

  /** The rows, if a statement with these `files` reads the same; null if not. */
  RDD over(Map files) {
    for (Iterator all = asked.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry entry = (Map.Entry) all.next();
      ListedFileIndex index = (ListedFileIndex) files.get(entry.getKey());
      if (index == null || !index.listing().answers((List) entry.getValue())) return null;
    }
    return rows;
  }
}
