package deltagateway.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranges of values of expressions: each result has all results of values in the ranges. */
class ValueRangeTest {
  private static void assertRange(long low, long high, ValueRange range) {
    assertEquals(low + " to " + high, range.low() + " to " + range.high());
  }

  @ParameterizedTest
  @CsvSource({"1, 3, -2, 5", "-4, -1, -3, -2", "0, 0, -7, 7", "-5, 5, -5, 5", "2, 2, 3, 3"})
  void resultsOfAllValuesAreInTheRange(long low, long high, long otherLow, long otherHigh) {
    ValueRange range = ValueRange.of(low, high);
    ValueRange other = ValueRange.of(otherLow, otherHigh);
    long sumLow = Long.MAX_VALUE,
        sumHigh = Long.MIN_VALUE,
        productLow = Long.MAX_VALUE,
        productHigh = Long.MIN_VALUE;
    for (long a = low; a <= high; a++) {
      for (long b = otherLow; b <= otherHigh; b++) {
        sumLow = Math.min(sumLow, a + b);
        sumHigh = Math.max(sumHigh, a + b);
        productLow = Math.min(productLow, a * b);
        productHigh = Math.max(productHigh, a * b);
      }
    }
    assertRange(sumLow, sumHigh, range.plus(other));
    assertRange(productLow, productHigh, range.times(other));
    assertRange(-high, -low, range.negated());
    assertRange(Math.min(low, otherLow), Math.max(high, otherHigh), range.with(other));
  }

  @Test
  void sumOfUpToSoManyValuesMayBeOfNone() {
    assertRange(0, 50, ValueRange.of(2, 5).summed(BigInteger.TEN));
    assertRange(-50, 0, ValueRange.of(-5, -2).summed(BigInteger.TEN));
    assertRange(-20, 30, ValueRange.of(-2, 3).summed(BigInteger.TEN));
    assertRange(0, 0, ValueRange.of(-2, 3).summed(BigInteger.ZERO));
  }

  @Test
  void digitsBoundBothSides() {
    assertRange(-99, 99, ValueRange.ofDigits(2));
    assertRange(0, 0, ValueRange.ofDigits(0));
  }

  @Test
  void longsHaveRoomForAQuarterOfTheirValues() {
    BigInteger most = BigInteger.TWO.pow(61).subtract(BigInteger.ONE);
    assertTrue(new ValueRange(most.negate(), most).fitsLong());
    assertFalse(new ValueRange(BigInteger.ZERO, most.add(BigInteger.ONE)).fitsLong());
    assertFalse(new ValueRange(most.negate().subtract(BigInteger.TWO), BigInteger.ZERO).fitsLong());
    assertTrue(ValueRange.ofDigits(18).fitsLong());
    assertFalse(ValueRange.ofDigits(19).fitsLong());
  }
}
