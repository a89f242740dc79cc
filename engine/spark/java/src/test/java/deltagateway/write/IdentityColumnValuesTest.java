package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values of identity columns, in one task and in several. */
class IdentityColumnValuesTest {
  private static List<Long> values(long first, long step, int count) {
    IdentityColumnValues values = new IdentityColumnValues("id", first, step);
    List<Long> found = new ArrayList<>();
    for (int i = 0; i < count; i++) found.add(values.next());
    return found;
  }

  @Test
  void valuesFollowTheStep() {
    assertEquals(List.of(1L, 2L, 3L), values(1, 1, 3));
    assertEquals(List.of(10L, 7L, 4L), values(10, -3, 3));
    assertEquals(List.of(Long.MAX_VALUE - 1, Long.MAX_VALUE), values(Long.MAX_VALUE - 1, 1, 2));
    assertEquals(List.of(Long.MIN_VALUE, Long.MIN_VALUE + 5), values(Long.MIN_VALUE, 5, 2));
  }

  @ParameterizedTest
  @CsvSource({
    "9223372036854775806, 1, 2",
    "9223372036854775807, 1, 1",
    "9223372036854775807, 7, 1",
    "-9223372036854775807, -1, 2",
    "0, 9223372036854775807, 2",
    "-1, -9223372036854775807, 2",
  })
  void valueAfterTheLastOneFails(long first, long step, int count) {
    values(first, step, count);
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> values(first, step, count + 1));
    assertEquals("identity values", rejection.kind());
    assertEquals("id", rejection.subject());
  }

  @Test
  void twoColumnsDoNotShareValues() {
    IdentityColumnValues one = new IdentityColumnValues("id", 1, 1);
    IdentityColumnValues other = new IdentityColumnValues("id", 1, 1);
    assertNotEquals(one, other);
    assertEquals(one, one);
    assertFalse(one.value().deterministic());
    assertFalse(one.value().semanticEquals(other.value()));
    assertEquals("IdentityColumnValues", one.toString());
  }

  @Test
  @Tag("spark")
  void tasksTakeTurns() {
    var rows = TestSpark.SPARK.range(0, 10, 1, 3).queryExecution().analyzed();
    var values = new IdentityColumnValues("id", 100, 10);
    var column =
        new Alias(
            values.value(),
            "v",
            NamedExpression$.MODULE$.newExprId(),
            ScalaConversions.seq(List.of()),
            ScalaConversions.none(),
            ScalaConversions.seq(List.of()));
    Set<Long> found = new HashSet<>();
    for (Row row :
        Dataset$.MODULE$
            .ofRows(TestSpark.SPARK, new Project(ScalaConversions.seq(List.of(column)), rows))
            .collectAsList()) found.add(row.getLong(0));
    // Of 10 rows, the tasks have 3, 3 and 4.
    assertEquals(Set.of(100L, 130L, 160L, 110L, 140L, 170L, 120L, 150L, 180L, 210L), found);
  }
}
