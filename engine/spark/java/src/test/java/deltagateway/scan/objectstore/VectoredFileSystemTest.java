package deltagateway.scan.objectstore;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestFileSystem;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests and bytes of data files in a store, and faults of the store. */
class VectoredFileSystemTest {
  private static final AtomicInteger STAGES = new AtomicInteger();
  private static final int LARGE = 5 << 20;
  private static final int TAIL = FileTail.TAIL_BYTES;

  @TempDir Path folder;
  private final int stage = STAGES.incrementAndGet();
  private FileSystem store;

  @BeforeEach
  void open() throws IOException {
    Configuration conf = new Configuration(false);
    conf.set("fs.test.impl", VectoredFileSystem.class.getName());
    conf.set("deltagateway.connector.test", TestFileSystem.class.getName());
    conf.setBoolean("deltagateway.connector.uncached.test", true);
    store = new VectoredFileSystem();
    store.initialize(TestFileSystem.path(folder).toUri(), conf);
    TestFileSystem.REQUESTS.clear();
  }

  @AfterEach
  void end() {
    FileTail.end();
    TestFileSystem.failures = 0;
  }

  private byte[] write(String name, int size, String magic) throws IOException {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    byte[] end = magic.getBytes();
    System.arraycopy(end, 0, bytes, size - end.length, end.length);
    Files.write(folder.resolve(name), bytes);
    return bytes;
  }

  private org.apache.hadoop.fs.Path path(String name) {
    return TestFileSystem.path(folder.resolve(name));
  }

  private FSDataInputStream begin(String name, long length) throws IOException {
    FileTail.begin(stage, path(name), length, 7);
    assertEquals(length, store.getFileStatus(path(name)).getLen());
    assertEquals(7, store.getFileStatus(path(name)).getModificationTime());
    return store.open(path(name), 4096);
  }

  private static List<String> requests() {
    return TestFileSystem.REQUESTS.stream().filter(request -> !request.equals("close")).toList();
  }

  @ParameterizedTest
  @CsvSource({"4, PAR1", "1000, PAR1", "1048576, PARE"})
  void smallFileIsReadByOneRequest(int size, String magic) throws IOException {
    byte[] bytes = write("small", size, magic);
    try (FSDataInputStream in = begin("small", size)) {
      assertArrayEquals(bytes, in.readAllBytes());
      assertEquals(-1, in.read());
      in.seek(size - 4);
      assertEquals(magic.charAt(0), in.read());
      assertEquals(size - 3, in.getPos());
    }
    assertEquals(List.of("open", "read 0+" + size), requests());
  }

  @Test
  void tailOfALargeFileIsReadOnceForAllSplits() throws IOException {
    byte[] bytes = write("large", LARGE, "PAR1");
    begin("large", LARGE).close();
    try (FSDataInputStream in = begin("large", LARGE)) {
      byte[] footer = new byte[100];
      in.readFully(LARGE - 100, footer);
      assertArrayEquals(Arrays.copyOfRange(bytes, LARGE - 100, LARGE), footer);
    }
    long reads = requests().stream().filter(request -> request.startsWith("read")).count();
    assertEquals(1, reads);
    assertTrue(requests().contains("read " + (LARGE - TAIL) + "+" + TAIL));
  }

  @Test
  void sequentialReadsReadAheadUpToTheTail() throws IOException {
    byte[] bytes = write("large", LARGE, "PAR1");
    try (FSDataInputStream in = begin("large", LARGE)) {
      assertArrayEquals(bytes, in.readAllBytes());
    }
    List<String> reads = requests().stream().filter(r -> r.startsWith("read")).toList();
    assertEquals(
        List.of(
            "read " + (LARGE - TAIL) + "+" + TAIL,
            "read 0+1048576",
            "read 1048576+1048576",
            "read 2097152+1048576",
            "read 3145728+1048576",
            "read 4194304+" + (LARGE - TAIL - 4194304)),
        reads);
  }

  @ParameterizedTest
  @CsvSource({
    "0+10, 1",
    "0+10 20+10, 1",
    "20+10 0+10, 1",
    "0+10 1048586+10, 1",
    "0+10 1048587+10, 2",
    "0+10 3000000+10 4000000+10, 2",
    "4980700+100, 1",
    "4980736+100, 0",
    "5242870+10, 0",
    "4980700+100 5000000+10, 1",
    "0+10 5000000+10, 1",
  })
  void nearRangesAreReadTogether(String text, int requests) throws Exception {
    byte[] bytes = write("large", LARGE, "PAR1");
    List<FileRange> ranges = new ArrayList<>();
    for (String range : text.split(" ")) {
      String[] parts = range.split("\\+");
      ranges.add(FileRange.createFileRange(Long.parseLong(parts[0]), Integer.parseInt(parts[1])));
    }
    try (FSDataInputStream in = begin("large", LARGE)) {
      TestFileSystem.REQUESTS.clear();
      in.readVectored(ranges, ByteBuffer::allocate);
      for (FileRange range : ranges) {
        ByteBuffer data = range.getData().get();
        byte[] found = new byte[data.remaining()];
        data.get(found);
        int from = (int) range.getOffset();
        assertArrayEquals(Arrays.copyOfRange(bytes, from, from + range.getLength()), found);
      }
    }
    assertEquals(requests, requests().size());
  }

  @Test
  void positionsOutsideOfTheFileFail() throws IOException {
    write("small", 100, "PAR1");
    try (FSDataInputStream in = begin("small", 100)) {
      assertThrows(EOFException.class, () -> in.seek(-1));
      assertThrows(EOFException.class, () -> in.seek(101));
      in.seek(100);
      assertEquals(-1, in.read());
      assertEquals(0, in.read(new byte[0], 0, 0));
      assertThrows(EOFException.class, () -> in.readFully(95, new byte[10]));
      assertFalse(in.seekToNewSource(0));
    }
  }

  @ParameterizedTest
  @CsvSource({"99, PAR1, 100", "101, PAR1, 100", "3, AR1, 3", "100, ABCD, 100"})
  void fileThatDoesNotMatchTheLogIsOpenedByTheConnector(int length, String magic, int size)
      throws IOException {
    byte[] bytes = write("other", size, magic);
    FileTail.begin(stage, path("other"), length, 7);
    assertEquals(size, store.getFileStatus(path("other")).getLen());
    try (FSDataInputStream in = store.openFile(path("other")).build().join()) {
      assertArrayEquals(bytes, in.readAllBytes());
    }
    assertTrue(requests().contains("status"));
  }

  @Test
  void missingFileIsReportedByTheConnector() {
    FileTail.begin(stage, path("missing"), 100, 7);
    assertThrows(FileNotFoundException.class, () -> store.getFileStatus(path("missing")));
    assertThrows(FileNotFoundException.class, () -> store.open(path("missing"), 4096));
  }

  @Test
  void failedTailIsReadByTheConnector() throws IOException {
    write("small", 100, "PAR1");
    FileTail.begin(stage, path("small"), 100, 7);
    TestFileSystem.failures = 1;
    assertEquals(0, store.getFileStatus(path("small")).getModificationTime());
    assertTrue(requests().contains("status"));
  }

  @Test
  void failedReadOfOneSplitDoesNotFailTheNext() throws IOException {
    byte[] bytes = write("large", LARGE, "PAR1");
    FileTail.begin(stage, path("large"), LARGE, 7);
    TestFileSystem.failures = 1;
    store.getFileStatus(path("large"));
    try (FSDataInputStream in = begin("large", LARGE)) {
      assertEquals(bytes[0] & 0xff, in.read());
    }
  }

  @Test
  void faultAfterTheTailIsRaised() throws IOException {
    write("large", LARGE, "PAR1");
    try (FSDataInputStream in = begin("large", LARGE)) {
      TestFileSystem.failures = 1;
      assertThrows(IOException.class, in::read);
      assertTrue(in.read() >= 0); // the next read succeeds
    }
  }

  @Test
  void otherFilesAreOpenedByTheConnector() throws Exception {
    byte[] bytes = write("other", 10, "text");
    write("small", 100, "PAR1");
    FileTail.begin(stage, path("small"), 100, 7);
    try (FSDataInputStream in = store.openFile(path("other")).build().get()) {
      assertArrayEquals(bytes, in.readAllBytes());
    }
    try (FSDataInputStream in = store.openFile(path("small")).build().get()) {
      assertEquals(100, in.readAllBytes().length);
    }
    FileTail.end();
    assertEquals(0, store.getFileStatus(path("small")).getModificationTime());
  }

  @ParameterizedTest
  @CsvSource({
    "s3a://bucket/t, true",
    "file:/t, false",
    "/t, false",
    "test://store/t, false",
    "unknown://store/t, false",
  })
  void onlyTheConnectorForS3IsWrapped(String location, boolean isUsed) {
    Configuration conf = new Configuration(false);
    conf.set("fs.s3a.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem");
    conf.set("fs.test.impl", TestFileSystem.class.getName());
    boolean hasConnector = true;
    try {
      Class.forName("org.apache.hadoop.fs.s3a.S3AFileSystem");
    } catch (ClassNotFoundException missing) {
      hasConnector = false; // the connector is an optional download
    }
    assertEquals(
        isUsed && hasConnector,
        VectoredFileSystem.use(conf, new org.apache.hadoop.fs.Path(location)));
  }
}
