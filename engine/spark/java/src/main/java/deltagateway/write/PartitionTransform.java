package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.errors.DataTypeErrors;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Computes partition values of Iceberg tables by transforms of column values, whatever the
 * session's time zone.
 *
 * <p>Integers, days and microseconds are numbers, by which rows are sorted much faster than by
 * their digits; Spark names folders by the digits. Other values are strings: decimals as plain
 * digits, strings and binaries as `x` and hexadecimal digits, so that an empty one is not null.
 * Null is null for every transform. Units of time apply to microseconds, also if these are a plain
 * number.
 *
 * <p>Iceberg table specification, "Partition Transforms", "Appendix B: 32-bit Hash Requirements".
 */
public final class PartitionTransform implements Serializable {
  private static final long serialVersionUID = 1;
  private static final long DAY_MICROS = 86400000000L;
  private static final long HOUR_MICROS = 3600000000L;

  private final String kind;
  private final int width;
  private final int precision;

  /** Creates a transform without a limit of digits, for sorting. */
  PartitionTransform(String kind, int width) {
    this(kind, width, Integer.MAX_VALUE);
  }

  private PartitionTransform(String kind, int width, int precision) {
    this.kind = kind;
    this.width = width;
    this.precision = precision;
  }

  /** Creates a transform into partition values, which fails if a decimal has too many digits. */
  static PartitionTransform into(String kind, int width, DataType type) {
    return new PartitionTransform(
        kind, width, type instanceof DecimalType decimal ? decimal.precision() : Integer.MAX_VALUE);
  }

  /** Returns the partition value of `source`, which is resolved: a number or a string. */
  Expression of(Expression source) {
    return new Invoke(
        Literal$.MODULE$.fromObject(this),
        method(source.dataType()),
        type(source.dataType()),
        ScalaConversions.seq(List.of(source)),
        ScalaConversions.emptySeq(),
        true,
        true,
        true);
  }

  /** Returns the key by which rows of one partition are shuffled, from a result of {@link #of}. */
  static Expression keyOf(Expression value) {
    Invoke invoke = (Invoke) value;
    PartitionTransform transform = (PartitionTransform) ((Literal) invoke.targetObject()).value();
    return transform.kind.equals("identity") ? invoke.arguments().head() : value;
  }

  private DataType type(DataType source) {
    boolean isNumber =
        kind.equals("bucket")
            || source instanceof IntegerType
            || source instanceof LongType
            || source instanceof DateType
            || source instanceof TimestampType
            || source instanceof TimestampNTZType;
    return isNumber ? LongType$.MODULE$ : StringType$.MODULE$;
  }

  private String method(DataType type) {
    boolean isBucket = kind.equals("bucket");
    if (type instanceof BooleanType) return "ofBoolean";
    if (type instanceof IntegerType) return "ofInt";
    if (type instanceof LongType) return "ofLong";
    if (type instanceof FloatType) return "ofFloat";
    if (type instanceof DoubleType) return "ofDouble";
    if (type instanceof DateType) return "ofDays";
    if (type instanceof TimestampType || type instanceof TimestampNTZType) return "ofMicros";
    if (type instanceof DecimalType) return isBucket ? "bucketOfDecimal" : "ofDecimal";
    if (type instanceof StringType) return isBucket ? "bucketOfString" : "ofString";
    if (type instanceof BinaryType) return isBucket ? "bucketOfBinary" : "ofBinary";
    throw new IllegalArgumentException("no partitions are made of " + type.sql());
  }

  public UTF8String ofBoolean(boolean value) {
    return text(Boolean.toString(value));
  }

  public long ofInt(int value) {
    if (kind.equals("bucket")) return bucket(Murmur3_x86_32.hashLong(value, 0));
    if (kind.equals("truncate")) return value - Math.floorMod(value, width);
    return value;
  }

  public long ofLong(long value) {
    if (kind.equals("bucket")) return bucket(Murmur3_x86_32.hashLong(value, 0));
    if (kind.equals("truncate")) return value - Math.floorMod(value, width);
    if (!kind.equals("identity")) return ofMicros(value);
    return value;
  }

  public UTF8String ofFloat(float value) {
    return text(Float.toString(value));
  }

  public UTF8String ofDouble(double value) {
    return text(Double.toString(value));
  }

  public long ofDays(int days) {
    if (kind.equals("bucket")) return bucket(Murmur3_x86_32.hashLong(days, 0));
    return calendar(days, days);
  }

  public long ofMicros(long micros) {
    if (kind.equals("bucket")) return bucket(Murmur3_x86_32.hashLong(micros, 0));
    if (kind.equals("hour")) return Math.floorDiv(micros, HOUR_MICROS);
    return calendar(Math.floorDiv(micros, DAY_MICROS), micros);
  }

  private long calendar(long days, long identity) {
    if (kind.equals("day")) return days;
    if (kind.equals("identity")) return identity;
    LocalDate date = LocalDate.ofEpochDay(days);
    long years = date.getYear() - 1970L;
    return kind.equals("year") ? years : years * 12 + date.getMonthValue() - 1;
  }

  public UTF8String ofDecimal(Decimal value) {
    BigInteger unscaled = unscaled(value);
    if (kind.equals("truncate"))
      unscaled = unscaled.subtract(unscaled.mod(BigInteger.valueOf(width)));
    BigDecimal result = new BigDecimal(unscaled, value.scale());
    if (result.precision() > precision) {
      throw DataTypeErrors.cannotChangeDecimalPrecisionError(value, precision, value.scale(), null);
    }
    return text(result.toPlainString());
  }

  public long bucketOfDecimal(Decimal value) {
    return bucket(hash(unscaled(value).toByteArray()));
  }

  private static BigInteger unscaled(Decimal value) {
    return value.toJavaBigDecimal().unscaledValue();
  }

  public UTF8String ofString(UTF8String value) {
    return hex(kind.equals("truncate") ? value.substring(0, width).getBytes() : value.getBytes());
  }

  public long bucketOfString(UTF8String value) {
    return bucket(hash(value.getBytes()));
  }

  public UTF8String ofBinary(byte[] value) {
    return hex(
        kind.equals("truncate") ? Arrays.copyOf(value, Math.min(value.length, width)) : value);
  }

  public long bucketOfBinary(byte[] value) {
    return bucket(hash(value));
  }

  /** Spark's SQL function and {@code hashUnsafeBytes} hash the last bytes differently. */
  private static int hash(byte[] bytes) {
    return Murmur3_x86_32.hashUnsafeBytes2(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, 0);
  }

  private long bucket(int hash) {
    return (hash & Integer.MAX_VALUE) % width;
  }

  private static UTF8String hex(byte[] bytes) {
    return text("x" + HexFormat.of().formatHex(bytes));
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PartitionTransform that
        && kind.equals(that.kind)
        && width == that.width;
  }

  @Override
  public int hashCode() {
    return kind.hashCode() * 31 + width;
  }

  @Override
  public String toString() {
    return kind + width;
  }
}
