package deltagateway.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import deltagateway.TestSpark;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Admission of statements; the end of one for memory is in the tests of sessions. */
@Tag("spark")
@Timeout(60)
class MemoryGuardTest {
  private final MemoryGuard memory = new MemoryGuard(TestSpark.SPARK.sparkContext(), null);

  @Test
  void statementBeginsWhileMemoryIsFree() throws Exception {
    memory.admit("a", null);
    memory.leave("a");
    memory.leave("a");
  }

  @Test
  void statementWithoutTasksIsNotAwaited() throws Exception {
    memory.admit("b", null);
    memory.awaitTasks("b");
    memory.leave("b");
    assertNull(TestSpark.SPARK.sparkContext().getLocalProperty("spark.jobGroup.id"));
    assertEquals(0, TestSpark.SPARK.sparkContext().statusTracker().getJobIdsForGroup("b").length);
  }
}
