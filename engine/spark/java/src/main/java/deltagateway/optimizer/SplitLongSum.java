package deltagateway.optimizer;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.Decimal;

/**
 * Sum of longs that may exceed a long, computed as the sums of their upper and of their lower bits.
 * Each value is `upper * 2^31 + lower`; neither sum can overflow with fewer than 2^32 values.
 *
 * <p>The class is public for the code that Spark generates.
 */
public final class SplitLongSum {
  static final int LOWER_BITS = 31;

  private SplitLongSum() {}

  /** Returns a decimal of the sum's type, which has more digits than both partial sums. */
  public static Decimal total(long upper, long lower, int precision, int scale) {
    BigInteger unscaled =
        BigInteger.valueOf(upper).shiftLeft(LOWER_BITS).add(BigInteger.valueOf(lower));
    return Decimal.apply(
        new scala.math.BigDecimal(new BigDecimal(unscaled, scale)), precision, scale);
  }
}
