package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values whose size the text of a statement determines. */
@Tag("spark")
class ValueSizeLimitsTest {
  private static void ensureMayRun(String value) {
    TestSpark.guard().ensureMayRun(TestSpark.analyzed("SELECT " + value + " FROM range(3)"), "s");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "repeat('x', 268435456)",
        "repeat('ab', 134217728)",
        "repeat('x', -1)",
        "repeat('x', int(id))",
        "repeat(string(id), 10)",
        "array_repeat(1L, 33554432)",
        "space(268435456)",
        "lpad('x', 268435456)",
        "rpad('x', 268435456, 'ab')",
        "sequence(1, 33554432)",
        "sequence(1, 1000000000, 1000)",
        "sequence(date'2000-01-01', date'2030-01-01')",
        "repeat('x', NULL)",
      })
  void valueWithinTheLimitMayBeComputed(String value) {
    ensureMayRun(value);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "repeat('x', 268435457) | repeat",
        "repeat('ab', 134217729) | repeat",
        "repeat('x', 500000000 + 500000000) | repeat",
        "repeat(repeat('x', 100000), 100000) | repeat",
        "repeat(space(100000), 100000) | repeat",
        "array_repeat(1L, 33554433) | array_repeat",
        "array_repeat(repeat('x', 1000), 1000000) | array_repeat",
        "space(268435457) | space",
        "lpad('x', 268435457) | lpad",
        "rpad('x', 268435457, 'ab') | rpad",
        "sequence(1, 1000000000) | sequence",
        "sequence(1000000000, 1, -1) | sequence",
      })
  void valueBeyondTheLimitIsRefused(String value, String function) {
    RejectionException refusal = assertThrows(RejectionException.class, () -> ensureMayRun(value));
    assertEquals("cell size " + function, refusal.kind() + " " + refusal.subject());
  }
}
