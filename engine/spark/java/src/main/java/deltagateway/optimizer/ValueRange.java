package deltagateway.optimizer;

import java.math.BigInteger;

/** Inclusive bounds of the values of an expression that are not null. */
record ValueRange(BigInteger low, BigInteger high) {
  /** A quarter of a long's range, so that slightly wrong bounds of a column cause no overflow. */
  private static final int BITS_MAX = 61;

  static ValueRange of(long low, long high) {
    return new ValueRange(BigInteger.valueOf(low), BigInteger.valueOf(high));
  }

  /** Returns the range of all numbers with up to `digits` decimal digits. */
  static ValueRange ofDigits(int digits) {
    BigInteger high = BigInteger.TEN.pow(digits).subtract(BigInteger.ONE);
    return new ValueRange(high.negate(), high);
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

  /** Returns the smallest range that contains both. */
  ValueRange with(ValueRange other) {
    return new ValueRange(low.min(other.low), high.max(other.high));
  }

  /** Returns the range of the sums of at most `count` values. */
  ValueRange summed(BigInteger count) {
    return new ValueRange(
        low.min(BigInteger.ZERO).multiply(count), high.max(BigInteger.ZERO).multiply(count));
  }

  boolean contains(ValueRange other) {
    return low.compareTo(other.low) <= 0 && high.compareTo(other.high) >= 0;
  }

  boolean fitsLong() {
    return low.bitLength() <= BITS_MAX && high.bitLength() <= BITS_MAX;
  }
}
