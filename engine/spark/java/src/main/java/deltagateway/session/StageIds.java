package deltagateway.session;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.DAGScheduler;

/**
 * The ids of Spark's stages, which are its order of turns: of stages with as many running tasks,
 * fair scheduling takes the one whose name is first as a text, in which 1000 is before 999. The
 * older ones would wait for as long as there are newer ones. So the ids begin where all have as
 * many digits, up to the largest that Spark can count.
 */
public final class StageIds {
  private static final int FIRST = 1000000000;

  private StageIds() {}

  /** Where Spark has no such counter, the ids stay as they are. */
  static void haveOneLength(SparkContext context) {
    try {
      Field next = DAGScheduler.class.getDeclaredField("nextStageId");
      next.setAccessible(true);
      AtomicInteger ids = (AtomicInteger) next.get(context.dagScheduler());
      if (ids.get() < FIRST) ids.set(FIRST); // nothing runs yet
    } catch (NoSuchFieldException absent) {
      return;
    } catch (IllegalAccessException inaccessible) {
      throw new IllegalStateException(inaccessible);
    }
  }
}
