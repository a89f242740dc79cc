package deltagateway.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import deltagateway.TestFileSystem;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** File systems that are cached until their credentials expire or they are idle. */
class FileSystemCacheTest {
  private static final long MINUTE = 60_000;

  private final FileSystem store = new TestFileSystem();

  @ParameterizedTest
  @CsvSource({
    // expires, last use, now, cached
    "100, 50, 50, true",
    "100, 50, 109, true",
    "100, 50, 111, false",
    "1000, 0, 359, true",
    "1000, 0, 361, false",
    "1000, 300, 361, true",
  })
  void fileSystemIsRemovedAfterItsTime(long expires, long used, long now, boolean isCached) {
    FileSystemCache cache = new FileSystemCache(10);
    cache.keep("k", store, expires * MINUTE, used * MINUTE);
    List<FileSystem> removed = cache.takeOver(now * MINUTE);
    assertEquals(isCached ? List.of() : List.of(store), removed);
    if (isCached) assertSame(store, cache.find("k", 0, now * MINUTE));
    else assertNull(cache.find("k", 0, now * MINUTE));
  }

  @Test
  void useProlongsAFileSystem() {
    FileSystemCache cache = new FileSystemCache(10);
    cache.keep("k", store, 100 * MINUTE, 0);
    cache.find("k", 500 * MINUTE, 90 * MINUTE); // newer credentials of the same kind
    assertEquals(List.of(), cache.takeOver(400 * MINUTE));
    assertEquals(List.of(store), cache.takeOver(451 * MINUTE));
  }

  @Test
  void idleFileSystemsOfManyAreRemovedSooner() {
    FileSystemCache cache = new FileSystemCache(2);
    cache.keep("a", store, 1000 * MINUTE, 0);
    assertEquals(List.of(), cache.takeOver(11 * MINUTE));
    cache.keep("b", new TestFileSystem(), 1000 * MINUTE, 10 * MINUTE);
    assertEquals(List.of(store), cache.takeOver(11 * MINUTE));
    assertNull(cache.find("a", 0, 0));
  }

  @Test
  void failedCloseIsIgnored() {
    FileSystemCache.close(List.of(store, new TestFileSystem()));
    FileSystemCache.close(List.of());
  }
}
