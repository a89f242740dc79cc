package deltagateway.optimizer;

import java.math.BigInteger;

/**
 * Between which whole numbers, both included, the values of an expression lie that are not null.
 */
public final class ValueRange {
  /**
   * A quarter of what a long holds: what a column is known to hold may be a little wrong without a
   * failure.
   */
  private static final int BITS_MAX = 61;

  final BigInteger low;
  final BigInteger high;

  ValueRange(BigInteger low, BigInteger high) {
    this.low = low;
    this.high = high;
  }

  static ValueRange of(long low, long high) {
    return new ValueRange(BigInteger.valueOf(low), BigInteger.valueOf(high));
  }

  /** Of all numbers of so many decimal digits. */
  static ValueRange ofDigits(int digits) {
    BigInteger most = BigInteger.TEN.pow(digits).subtract(BigInteger.ONE);
    return new ValueRange(most.negate(), most);
  }

  ValueRange plus(ValueRange other) {
    return new ValueRange(low.add(other.low), high.add(other.high));
  }

  ValueRange negated() {
    return new ValueRange(high.negate(), low.negate());
  }

  ValueRange times(ValueRange other) {
    BigInteger a = low.multiply(other.low);
    BigInteger b = low.multiply(other.high);
    BigInteger c = high.multiply(other.low);
    BigInteger d = high.multiply(other.high);
    return new ValueRange(a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
  }

  /** The smallest one that has all values of both. */
  ValueRange with(ValueRange other) {
    return new ValueRange(low.min(other.low), high.max(other.high));
  }

  /** That of the sums of up to so many values, of which there may be none. */
  ValueRange summed(BigInteger count) {
    return new ValueRange(
        low.min(BigInteger.ZERO).multiply(count), high.max(BigInteger.ZERO).multiply(count));
  }

  boolean fitsLong() {
    return low.bitLength() <= BITS_MAX && high.bitLength() <= BITS_MAX;
  }
}
