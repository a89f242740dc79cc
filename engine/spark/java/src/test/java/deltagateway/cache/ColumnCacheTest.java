package deltagateway.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.scan.SharedColumnVectors;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Decoded columns and the limits of their cache. */
class ColumnCacheTest {
  private static DataType type(String ddl) {
    return StructType.fromDDL("c " + ddl).fields()[0].dataType();
  }

  private static DecodedColumn longs(int rows) {
    DecodedColumn column = new DecodedColumn(LongType$.MODULE$);
    OnHeapColumnVector vector = new OnHeapColumnVector(rows, LongType$.MODULE$);
    for (int i = 0; i < rows; i++) vector.putLong(i, i);
    column.add(vector, rows);
    column.end();
    return column;
  }

  private static ColumnCache.File file(Object state, int rows, String... names) {
    Map<String, DecodedColumn> columns = new HashMap<>();
    for (String name : names) columns.put(name, longs(rows));
    return new ColumnCache.File(state, new int[] {rows}, columns);
  }

  @ParameterizedTest
  @CsvSource({
    "BOOLEAN, true",
    "TINYINT, true",
    "SMALLINT, true",
    "INT, true",
    "BIGINT, true",
    "FLOAT, true",
    "DOUBLE, true",
    "DATE, true",
    "TIMESTAMP, true",
    "TIMESTAMP_NTZ, true",
    "'DECIMAL(9,2)', true",
    "'DECIMAL(18,2)', true",
    "'DECIMAL(19,2)', false",
    "STRING, true",
    "BINARY, false",
    "ARRAY<INT>, false",
    "STRUCT<a: INT>, false"
  })
  void typesThatAreCopied(String type, boolean expected) {
    assertEquals(expected, DecodedColumn.supports(type(type)));
    StructType columns = StructType.fromDDL("c " + type + ", i BIGINT");
    assertEquals(expected, CachedColumnReader.supports(columns, 1));
  }

  @Test
  void rowIndexesAloneAreNotCached() {
    assertFalse(CachedColumnReader.supports(StructType.fromDDL("i BIGINT"), 0));
    assertTrue(CachedColumnReader.supports(StructType.fromDDL("i BIGINT"), -1));
  }

  private static void put(OnHeapColumnVector vector, DataType type, int row, int value) {
    switch (type.catalogString()) {
      case "boolean" -> vector.putBoolean(row, value % 2 == 1);
      case "tinyint" -> vector.putByte(row, (byte) value);
      case "smallint" -> vector.putShort(row, (short) value);
      case "float" -> vector.putFloat(row, value);
      case "double" -> vector.putDouble(row, value);
      case "string" -> vector.putByteArray(row, ("v" + value).getBytes());
      case "bigint", "timestamp", "decimal(18,2)" -> vector.putLong(row, value);
      default -> vector.putInt(row, value);
    }
  }

  private static Object get(OnHeapColumnVector vector, DataType type, int row) {
    return switch (type.catalogString()) {
      case "boolean" -> vector.getBoolean(row) ? 1 : 0;
      case "tinyint" -> (int) vector.getByte(row);
      case "smallint" -> (int) vector.getShort(row);
      case "float" -> (int) vector.getFloat(row);
      case "double" -> (int) vector.getDouble(row);
      case "string" -> vector.getUTF8String(row);
      case "bigint", "timestamp", "decimal(18,2)" -> (int) vector.getLong(row);
      default -> vector.getInt(row);
    };
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "DATE",
        "BIGINT",
        "TIMESTAMP",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(9,2)",
        "DECIMAL(18,2)",
        "STRING"
      })
  void copiesHaveTheValuesOfTheirBatch(String ddl) {
    DataType type = type(ddl);
    DecodedColumn column = new DecodedColumn(type);
    OnHeapColumnVector reused = new OnHeapColumnVector(4, type);
    for (int batch = 0; batch < 2; batch++) { // the second one has a null
      reused.reset();
      for (int row = 0; row < 3; row++) put(reused, type, row, row + batch);
      if (batch == 1) reused.putNull(1);
      column.add(reused, 3);
    }
    column.end();
    for (int batch = 0; batch < 2; batch++) {
      OnHeapColumnVector shared = SharedColumnVectors.of(column.batches()[batch]);
      for (int row = 0; row < 3; row++) {
        assertEquals(batch == 1 && row == 1, shared.isNullAt(row));
        if (shared.isNullAt(row)) continue;
        int value = row + batch;
        Object expected =
            ddl.equals("STRING")
                ? UTF8String.fromString("v" + value)
                : ddl.equals("BOOLEAN") ? value % 2 : value;
        assertEquals(expected, get(shared, type, row));
      }
    }
    assertTrue(column.bytes() > 600);
  }

  @Test
  void sharedVectorMayBeClosed() {
    DecodedColumn column = longs(3);
    OnHeapColumnVector shared = SharedColumnVectors.of(column.batches()[0]);
    shared.close();
    assertEquals(2, SharedColumnVectors.of(column.batches()[0]).getLong(2));
  }

  @ParameterizedTest
  @CsvSource({"false, 2", "true, 4"})
  void columnsAreCachedWhenTheyAreRequestedAgain(boolean isFiltered, int expected) {
    ColumnCache cache = new ColumnCache(1 << 20);
    int requests = 1;
    while (!cache.accepts("c", isFiltered)) requests++;
    assertEquals(expected, requests);
    assertFalse(cache.accepts("c", isFiltered)); // one task decodes
    cache.end("c", true);
    assertTrue(cache.accepts("c", isFiltered));
    cache.end("c", false);
    assertFalse(cache.accepts("c", isFiltered)); // they do not fit
  }

  @Test
  void cacheWithoutRoomAcceptsNothing() {
    ColumnCache cache = new ColumnCache(0);
    for (int i = 0; i < 5; i++) assertFalse(cache.accepts("c", false));
  }

  @Test
  void fileIsFoundWithItsStateAndColumns() {
    ColumnCache cache = new ColumnCache(1 << 20);
    ColumnCache.File file = file("s1", 10, "a", "b");
    assertSame(file, cache.put("f", file));
    assertSame(file, cache.get("f", "s1", new String[] {"b"}));
    assertNull(cache.get("f", "s1", new String[] {"a", "c"}));
    assertNull(cache.get("other", "s1", new String[] {"a"}));
    assertTrue(cache.bytes() > 0);
    assertNull(cache.get("f", "s2", new String[] {"a"})); // the file has changed
    assertNull(cache.get("f", "s1", new String[] {"a"}));
    assertEquals(0, cache.bytes());
  }

  @Test
  void columnsOfOneFileAreCachedTogether() {
    ColumnCache cache = new ColumnCache(1 << 20);
    cache.put("f", file("s", 10, "a"));
    cache.put("f", file("s", 10, "b"));
    assertNotNull(cache.get("f", "s", new String[] {"a", "b"}));
    cache.put("f", file("s2", 10, "c"));
    assertNull(cache.get("f", "s2", new String[] {"a"}));
    assertNotNull(cache.get("f", "s2", new String[] {"c"}));
    assertArrayEquals(new int[] {10}, cache.get("f", "s2", new String[] {"c"}).counts);
  }

  @Test
  void leastRecentlyUsedFileIsReplaced() {
    ColumnCache cache = new ColumnCache(3 * 2_000);
    cache.put("a", file("s", 180, "c")); // 1920 bytes each
    cache.put("b", file("s", 180, "c"));
    cache.put("c", file("s", 180, "c"));
    assertNotNull(cache.get("a", "s", new String[] {"c"}));
    cache.put("d", file("s", 180, "c"));
    assertNull(cache.get("b", "s", new String[] {"c"}));
    assertNotNull(cache.get("a", "s", new String[] {"c"}));
    ColumnCache.File large = file("s", 1000, "c");
    assertSame(large, cache.put("e", large)); // returned, and not cached
    assertNull(cache.get("e", "s", new String[] {"c"}));
  }

  @Test
  void scanThatDoesNotFitLeavesTheCacheAsItIs() {
    ColumnCache cache = new ColumnCache(3 * 2_000);
    for (String file : new String[] {"a", "b", "c"}) cache.put(file, file("s", 180, "c"));
    assertFalse(cache.accepts("new", false));
    for (String file : new String[] {"a", "b", "c"}) cache.get(file, "s", new String[] {"c"});
    assertFalse(cache.accepts("new", false)); // all others were used since
    assertTrue(cache.accepts("new", false)); // and not since that
  }

  @Test
  void clearedCacheIsEmpty() {
    ColumnCache cache = new ColumnCache(1 << 20);
    assertFalse(cache.clear());
    cache.put("f", file("s", 10, "a"));
    assertTrue(cache.clear());
    assertEquals(0, cache.bytes());
    assertNull(cache.get("f", "s", new String[] {"a"}));
    assertNotSame(cache, ColumnCache.here(1));
    assertSame(ColumnCache.here(1), ColumnCache.here(50));
  }
}
