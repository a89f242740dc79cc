package deltagateway.session;

import deltagateway.internals.PrivateField;
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.DAGScheduler;

/**
 * Makes all ids of Spark's stages equally long. Of stages with the same number of running tasks,
 * fair scheduling chooses the one whose name is first as a text, in which 1000 is before 999: older
 * stages would wait for newer ones.
 */
final class StageIds {
  private static final int FIRST = 1_000_000_000;

  private StageIds() {}

  /** Ids remain as they are if Spark has no such counter. */
  static void makeEquallyLong(SparkContext context) {
    // Private, because no setting of Spark determines the first id.
    Field next = PrivateField.of(DAGScheduler.class, "nextStageId");
    if (next == null) return;
    try {
      // No stage runs yet.
      AtomicInteger ids = (AtomicInteger) next.get(context.dagScheduler());
      ids.updateAndGet(id -> Math.max(id, FIRST));
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }
}
