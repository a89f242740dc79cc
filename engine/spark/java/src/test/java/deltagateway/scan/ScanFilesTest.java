package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestScans;
import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lists of files, decoded from Arrow streams. */
class ScanFilesTest {
  private static ScanFiles read(byte[] stream, String constants) throws Exception {
    StructType schema = constants.isEmpty() ? new StructType() : StructType.fromDDL(constants);
    return ScanFiles.read(new ByteArrayInputStream(stream), schema, "America/New_York");
  }

  private static Object value(String type, String text) throws Exception {
    byte[] stream = TestScans.files(List.of("c"), new Object[][] {{"a", 1, 2, text}});
    ScanFiles files = read(stream, "c " + type);
    return files.constants(0).get(0, StructType.fromDDL("c " + type).fields()[0].dataType());
  }

  @Test
  void filesHavePathSizeAndTime() throws Exception {
    ScanFiles files =
        read(
            TestScans.files(List.of(), new Object[][] {{"ä b.parquet", 7, 1000}, {"c", 0, -1}}),
            "");
    assertEquals(2, files.count());
    assertEquals("ä b.parquet", files.path(0));
    assertEquals(7, files.size(0));
    assertEquals(1000, files.modificationTime(0));
    assertEquals(-1, files.modificationTime(1));
    assertEquals(1, files.groups());
    assertArrayEquals(new int[] {0, 1}, files.members(0));
  }

  @Test
  void listMayBeEmpty() throws Exception {
    ScanFiles files = read(TestScans.files(List.of("p")), "p INT");
    assertEquals(0, files.count());
    assertEquals(0, files.groups());
    assertFalse(files.isPart());
  }

  @Test
  void filesOfEqualConstantsAreAGroup() throws Exception {
    ScanFiles files =
        read(
            TestScans.files(
                List.of("p", "q"),
                new Object[][] {
                  {"a", 1, 0, "1", "x"},
                  {"b", 1, 0, "01", null},
                  {"c", 1, 0, "1", null},
                  {"d", 1, 0, "01", "x"}
                }),
            "p INT, q STRING");
    assertEquals(2, files.groups());
    assertArrayEquals(new int[] {0, 3}, files.members(0));
    assertArrayEquals(new int[] {1, 2}, files.members(1));
    assertEquals(1, files.constants(0).getInt(0));
    assertEquals("x", files.constants(0).getUTF8String(1).toString());
    assertTrue(files.constants(1).isNullAt(1));
  }

  @ParameterizedTest
  @CsvSource({
    "INT, 42, 42",
    "SMALLINT, -7, -7",
    "BIGINT, 9223372036854775807, 9223372036854775807",
    "BOOLEAN, true, true",
    "DOUBLE, NaN, NaN",
    "DOUBLE, -Infinity, -Infinity",
    "FLOAT, 1.5, 1.5",
    "DATE, 1970-01-03, 2",
    "DATE, 0001-01-01, -719162",
    "TIMESTAMP, 1970-01-01 00:00:00, 18000000000",
    "TIMESTAMP, 1970-01-01T00:00:00.000001Z, 1",
    "TIMESTAMP_NTZ, 1970-01-01 00:00:00.5, 500000",
  })
  void constantIsCastInTheTimeZone(String type, String text, String expected) throws Exception {
    assertEquals(expected, value(type, text).toString());
  }

  @Test
  void decimalsStringsAndBinariesAreExact() throws Exception {
    assertEquals(
        Decimal.apply(new java.math.BigDecimal("12.50"), 10, 2), value("DECIMAL(10,2)", "12.5"));
    assertEquals(UTF8String.fromString(" ä "), value("STRING", " ä "));
    assertArrayEquals(new byte[] {'a', 0}, (byte[]) value("BINARY", "a\0"));
    assertNull(value("INT", null));
  }

  @ParameterizedTest
  @CsvSource({
    "INT, 1x",
    "INT, 99999999999",
    "DATE, today?",
    "BOOLEAN, maybe",
    "'DECIMAL(3,1)', 1e9"
  })
  void malformedConstantFails(String type, String text) {
    assertThrows(RuntimeException.class, () -> value(type, text));
  }

  @ParameterizedTest
  @CsvSource({"0", "4", "100", "-1", "-9"})
  void truncatedStreamFails(int length) {
    byte[] stream = TestScans.files(List.of(), new Object[][] {{"a", 1, 2}, {"b", 1, 2}});
    byte[] end = Arrays.copyOf(stream, length < 0 ? stream.length / 2 + length : length);
    assertThrows(Exception.class, () -> read(end, ""));
  }

  @Test
  void streamWithOtherColumnsFails() {
    byte[] stream = TestScans.files(List.of(), new Object[][] {{"a", 1, 2}});
    assertThrows(RuntimeException.class, () -> read(stream, "p INT"));
    assertThrows(Exception.class, () -> read(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9}, ""));
  }

  @Test
  void partialListIsMarked() throws Exception {
    Object[][] file = {{"a", 1, 2}};
    assertTrue(read(TestScans.files(List.of(), true, file), "").isPart());
    assertFalse(read(TestScans.files(List.of(), false, file), "").isPart());
  }

  @Test
  void listsAreTheSameIfAllTheirFilesAre() throws Exception {
    List<String> names = List.of("p");
    ScanFiles files = read(TestScans.files(names, new Object[][] {{"a", 1, 2, "1"}}), "p INT");
    Object[][] same = {{"a", 1, 2, "01"}};
    assertTrue(files.isSame(read(TestScans.files(names, same), "p INT")));
    assertFalse(files.isSame(read(TestScans.files(names, true, same), "p INT")));
    for (Object[] other :
        new Object[][] {{"b", 1, 2, "1"}, {"a", 0, 2, "1"}, {"a", 1, 0, "1"}, {"a", 1, 2, "2"}})
      assertFalse(files.isSame(read(TestScans.files(names, new Object[][] {other}), "p INT")));
  }
}
