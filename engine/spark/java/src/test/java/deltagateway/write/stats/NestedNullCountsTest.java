package deltagateway.write.stats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Null counts of arrays and maps in written files. */
class NestedNullCountsTest {
  private static final GenericArrayData EMPTY = new GenericArrayData(new Object[0]);
  private static final ArrayBasedMapData EMPTY_MAP = new ArrayBasedMapData(EMPTY, EMPTY);

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  private static String counts(NestedNullCounts counts, String path) {
    ArrayNode node = StatementRequest.JSON.createArrayNode();
    counts.addTo(node, path);
    return node.toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "id INT | true",
        "s STRUCT<a: INT, b: STRUCT<c: STRING>> | true",
        "l ARRAY<INT> | false",
        "m MAP<INT, INT> | false",
        "s STRUCT<a: INT, b: STRUCT<c: ARRAY<INT>>> | false",
      })
  void onlyArraysAndMapsAreCounted(String columns, boolean isEmpty) {
    assertEquals(isEmpty, new NestedNullCounts(StructType.fromDDL(columns)).isEmpty());
  }

  @Test
  void nullsAreCountedAtAnyDepth() {
    NestedNullCounts counts =
        new NestedNullCounts(
            StructType.fromDDL(
                "id INT, l ARRAY<INT>, s STRUCT<m: MAP<INT, INT>, t: STRUCT<a: INT, l:"
                    + " ARRAY<INT>>>"));
    WriteTaskStatsTracker task = counts.newTaskInstance();
    task.newPartition(row());
    task.newFile("f");
    task.newRow("f", row(1, EMPTY, row(EMPTY_MAP, row(1, EMPTY))));
    task.newRow("f", row(null, null, row(EMPTY_MAP, row(1, null))));
    task.newRow("f", row(1, EMPTY, row(null, null)));
    task.newRow("f", row(1, EMPTY, null));
    task.closeFile("f");
    counts.processStats(ScalaConversions.seq(List.of(task.getFinalStats(0))), 0);
    assertEquals("[[[\"l\"],1],[[\"s\",\"m\"],2],[[\"s\",\"t\",\"l\"],3]]", counts(counts, "f"));
    assertEquals("[]", counts(counts, "other"));
  }

  @Test
  void filesOfSeveralTasksAreCountedApart() {
    NestedNullCounts counts = new NestedNullCounts(StructType.fromDDL("l ARRAY<INT>"));
    WriteTaskStatsTracker first = counts.newTaskInstance();
    first.newFile("a");
    first.newFile("b"); // both are open at once
    first.newRow("a", row((Object) null));
    first.newRow("b", row(EMPTY));
    first.newRow("a", row((Object) null));
    WriteTaskStatsTracker second = counts.newTaskInstance();
    second.newFile("c");
    counts.processStats(
        ScalaConversions.seq(List.of(first.getFinalStats(0), second.getFinalStats(0))), 0);
    assertEquals("[[[\"l\"],2]]", counts(counts, "a"));
    assertEquals("[[[\"l\"],0]]", counts(counts, "b"));
    assertEquals("[[[\"l\"],0]]", counts(counts, "c"));
  }

  @Test
  void uncommittedTaskIsNotCounted() {
    NestedNullCounts counts = new NestedNullCounts(StructType.fromDDL("l ARRAY<INT>"));
    WriteTaskStatsTracker task = counts.newTaskInstance();
    task.newRow("a", row((Object) null));
    counts.processStats(ScalaConversions.seq(List.of()), 0);
    assertTrue(counts(counts, "a").equals("[]"));
  }
}
