package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Transforms of partition values, with the values in the Iceberg table specification, Appendix B.
 */
class PartitionTransformTest {
  private static PartitionTransform bucket(int count) {
    return new PartitionTransform("bucket", count);
  }

  private static long micros(String text) {
    LocalDateTime time = LocalDateTime.parse(text);
    return time.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + time.getNano() / 1000;
  }

  private static Decimal decimal(String text) {
    return Decimal.apply(new java.math.BigDecimal(text));
  }

  private static void assertBucket(int hash, long bucketOfMany, long bucketOf16) {
    assertEquals(hash & Integer.MAX_VALUE, bucketOfMany);
    assertEquals((hash & Integer.MAX_VALUE) % 16, bucketOf16);
  }

  @Test
  void bucketsAreThoseOfTheSpecification() {
    PartitionTransform many = bucket(Integer.MAX_VALUE);
    PartitionTransform few = bucket(16);
    assertBucket(2017239379, many.ofInt(34), few.ofInt(34));
    assertBucket(2017239379, many.ofLong(34), few.ofLong(34));
    assertBucket(
        -500754589, many.bucketOfDecimal(decimal("14.20")), few.bucketOfDecimal(decimal("14.20")));
    int days = (int) LocalDate.parse("2017-11-16").toEpochDay();
    assertBucket(-653330422, many.ofDays(days), few.ofDays(days));
    long micros = micros("2017-11-16T22:31:08");
    assertBucket(-2047944441, many.ofMicros(micros), few.ofMicros(micros));
    UTF8String text = UTF8String.fromString("iceberg");
    assertBucket(1210000089, many.bucketOfString(text), few.bucketOfString(text));
    byte[] bytes = {0, 1, 2, 3};
    assertBucket(-188683207, many.bucketOfBinary(bytes), few.bucketOfBinary(bytes));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0",
    "9, 0",
    "10, 10",
    "0, 0",
    "-1, -10",
    "-10, -10",
    "-11, -20",
    "2147483647, 2147483640"
  })
  void wholeNumbersAreTruncatedDownwards(int value, long expected) {
    PartitionTransform transform = new PartitionTransform("truncate", 10);
    assertEquals(expected, transform.ofInt(value));
    assertEquals(expected, transform.ofLong(value));
  }

  @ParameterizedTest
  @CsvSource({"10.65, 10.50", "10.50, 10.50", "0.49, 0.00", "-10.65, -11.00", "-0.01, -0.50"})
  void decimalsAreTruncatedDownwardsInUnitsOfTheirScale(String value, String expected) {
    assertEquals(
        expected, new PartitionTransform("truncate", 50).ofDecimal(decimal(value)).toString());
  }

  @ParameterizedTest
  @CsvSource({
    "iceberg, x696365",
    "ic, x6963",
    "'', x",
    "äöü, xc3a4c3b6c3bc",
    "äöüß, xc3a4c3b6c3bc"
  })
  void textsAreTruncatedToCharacters(String value, String expected) {
    assertEquals(
        expected,
        new PartitionTransform("truncate", 3).ofString(UTF8String.fromString(value)).toString());
  }

  @ParameterizedTest
  @CsvSource({
    "1970-01-01T00:00:00, 0, 0, 0, 0",
    "1969-12-31T23:59:59.999999, -1, -1, -1, -1",
    "2017-11-16T22:31:08, 47, 574, 17486, 419686",
    "2000-02-29T00:00:00, 30, 361, 11016, 264384",
    "1900-03-01T01:00:00, -70, -838, -25508, -612191",
  })
  void unitsOfTimeCountFromTheEpoch(String time, long year, long month, long day, long hour) {
    long micros = micros(time);
    assertEquals(year, new PartitionTransform("year", 0).ofMicros(micros));
    assertEquals(month, new PartitionTransform("month", 0).ofMicros(micros));
    assertEquals(day, new PartitionTransform("day", 0).ofMicros(micros));
    assertEquals(hour, new PartitionTransform("hour", 0).ofMicros(micros));
    assertEquals(micros, new PartitionTransform("identity", 0).ofMicros(micros));
    int days = (int) day;
    assertEquals(year, new PartitionTransform("year", 0).ofDays(days));
    assertEquals(month, new PartitionTransform("month", 0).ofDays(days));
    assertEquals(day, new PartitionTransform("day", 0).ofDays(days));
    assertEquals(day, new PartitionTransform("identity", 0).ofDays(days));
  }

  @ParameterizedTest
  @ValueSource(strings = {"NaN", "0.0", "-0.0", "Infinity", "1.0E-5"})
  void floatingPointNumbersAreTheirShortestTexts(String text) {
    PartitionTransform identity = new PartitionTransform("identity", 0);
    assertEquals(text, identity.ofDouble(Double.parseDouble(text)).toString());
    assertEquals(text, identity.ofFloat(Float.parseFloat(text)).toString());
  }
}
