package deltagateway.optimizer;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.Decimal;

/**
 * A sum of longs that may not fit in a long: that of their upper and that of their lower bits, put
 * together. Each value is `upper * 2^31 + lower`; neither sum reaches the end of a long before
 * there are 2^32 values.
 *
 * <p>It is public for the code that Spark generates.
 */
public final class SplitLongSum {
  static final int LOWER_BITS = 31;

  private SplitLongSum() {}

  /** A decimal of the type that the sum has, which has more digits than both. */
  public static Decimal total(long upper, long lower, int precision, int scale) {
    BigInteger unscaled =
        BigInteger.valueOf(upper).shiftLeft(LOWER_BITS).add(BigInteger.valueOf(lower));
    return Decimal.apply(
        new scala.math.BigDecimal(new BigDecimal(unscaled, scale)), precision, scale);
  }
}
