package deltagateway.result;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.CallbackServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Results that are collected by partition, with their limits and grants. */
class ResultSpoolTest {
  private static final int MEMORY = 256 << 10;
  private static final int FREE = 4 << 20;

  @TempDir Path folder;
  private CallbackServer server;
  private volatile String granted = "{\"granted\": 33554432}";
  private ResultSpool spool;

  @BeforeEach
  void start() throws Exception {
    server = new CallbackServer(request -> CallbackServer.value(granted));
    spool = spool(1 << 30, null, null);
  }

  @AfterEach
  void stop() throws IOException {
    spool.close();
    server.close();
  }

  private ResultSpool spool(long bytesMax, Long rows, Long bytes) throws Exception {
    return new ResultSpool(
        ResultRequests.request(folder, bytesMax, rows, bytes), server.callbacks(), null);
  }

  private static ArrowPartition.Part part(int size, long rows) {
    byte[] bytes = new byte[size];
    java.util.Arrays.fill(bytes, (byte) rows);
    return new ArrowPartition.Part(bytes, null, size, 8 * rows, rows);
  }

  private static List<String> segments(ResultSpool spool) {
    List<String> found = new ArrayList<>();
    for (ResultSpool.Segment segment : spool.segments())
      found.add(segment.offset + "+" + segment.length);
    return found;
  }

  @Test
  void partitionsAreInTheirOrder() throws IOException {
    assertTrue(spool.add(2, part(30, 3)));
    assertTrue(spool.add(0, part(10, 1)));
    assertEquals(List.of("30+10"), segments(spool));
    assertEquals(1, spool.rows());
    assertTrue(spool.add(1, part(20, 2)));
    assertEquals(List.of("30+10", "40+20", "0+30"), segments(spool));
    assertEquals(6, spool.rows());
    assertNull(spool.spillPath());
    byte[] bytes = spool.bytes();
    assertEquals(60, bytes.length);
    assertEquals(3, bytes[0]);
    assertEquals(1, bytes[30]);
  }

  @Test
  void emptyPartitionHasNoSegment() throws IOException {
    spool.add(0, part(0, 0));
    spool.add(1, part(10, 1));
    assertEquals(List.of("0+10"), segments(spool));
  }

  @Test
  void largeResultIsSpilled() throws IOException {
    spool.add(0, part(MEMORY, 1));
    assertNull(spool.spillPath());
    spool.add(1, part(1, 2));
    assertEquals(0, spool.bytes().length);
    spool.close();
    byte[] spilled = Files.readAllBytes(Path.of(spool.spillPath()));
    assertEquals(MEMORY + 1, spilled.length);
    assertEquals(2, spilled[MEMORY]);
  }

  @Test
  void bytesOfOtherProcessesAreAppended() throws IOException {
    String path = ResultSpool.append(spool.folder(), "3.7", new byte[] {1, 2});
    assertEquals(path, ResultSpool.append(spool.folder(), "3.7", new byte[] {3}));
    assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(Path.of(path)));
    assertEquals(folder.resolve("3.7"), Path.of(path));
  }

  @ParameterizedTest
  @ValueSource(strings = {"../3.7", "3", "driver", "3.7/..", "/3.7", "", "3.7\n"})
  void otherProcessesNameOnlyTheirOwnFiles(String name) throws IOException {
    assertThrows(IOException.class, () -> ResultSpool.append(spool.folder(), name, new byte[1]));
    assertEquals(0, folder.toFile().list().length);
  }

  @Test
  void bytesForNoStatementAreRejected() throws IOException {
    String other = folder.resolve("other").toString();
    assertThrows(IOException.class, () -> ResultSpool.append(other, "3.7", new byte[1]));
    spool.close();
    assertThrows(IOException.class, () -> ResultSpool.append(spool.folder(), "3.7", new byte[1]));
  }

  @Test
  void bytesOfOtherProcessesAreGranted() throws IOException {
    ResultSpool.append(spool.folder(), "3.7", new byte[FREE]);
    assertTrue(server.requests.isEmpty());
    ResultSpool.append(spool.folder(), "3.7", new byte[1]);
    assertEquals(1, server.requests.size());
    granted = "";
    assertThrows(
        Exception.class, () -> ResultSpool.append(spool.folder(), "3.8", new byte[40 << 20]));
    assertFalse(Files.exists(folder.resolve("3.8")));
  }

  @Test
  void filesOfTasksAreSegments() throws IOException {
    spool.add(0, new ArrowPartition.Part(null, "/spool/0.1", 50, 8, 1));
    ResultSpool.Segment segment = spool.segments().iterator().next();
    assertEquals("/spool/0.1", segment.path);
    assertEquals(50, segment.length);
  }

  @ParameterizedTest
  @CsvSource({"1, '1'", "3, '1 2'", "6, '1 2 3'", "7, '1 2 3'", "0, ''"})
  void resultIsCompleteWithTheWantedRows(long wanted, String partitions) throws Exception {
    ResultSpool wantedRows = spool(1 << 30, wanted, null);
    StringBuilder taken = new StringBuilder();
    for (int partition = 0; partition < 3 && !wantedRows.hasEnough(); partition++) {
      wantedRows.add(partition, part(10, partition + 1));
      taken.append(" ").append(partition + 1);
    }
    assertEquals(partitions, taken.toString().trim());
    assertEquals(wanted <= 6, wantedRows.hasEnough());
    if (wantedRows.hasEnough()) assertFalse(wantedRows.add(3, part(10, 1)));
    wantedRows.close();
  }

  @Test
  void laterPartitionsDoNotCompleteTheResult() throws Exception {
    ResultSpool wanted = spool(1 << 30, 5L, null);
    assertTrue(wanted.add(1, part(10, 9)));
    assertFalse(wanted.hasEnough());
    assertFalse(wanted.add(0, part(10, 1)));
    assertTrue(wanted.hasEnough());
    assertEquals(10, wanted.rows());
    wanted.close();
  }

  @Test
  void bytesOfValuesCompleteTheResult() throws Exception {
    ResultSpool wanted = spool(1 << 30, null, 16L);
    assertTrue(wanted.add(0, part(10, 2)));
    assertFalse(wanted.add(1, part(10, 1)));
    wanted.close();
  }

  @Test
  void resultAboveItsLimitIsRejected() throws Exception {
    ResultSpool limited = spool(100, null, null);
    assertTrue(limited.add(0, part(100, 1)));
    assertFalse(limited.exceeded());
    assertFalse(limited.add(1, part(1, 1)));
    assertTrue(limited.exceeded());
    limited.close();
  }

  @Test
  void bytesOfFilesAreGranted() throws IOException {
    ResultSpool.grown(folder.toString(), 0, "f", FREE, FREE);
    assertTrue(server.requests.isEmpty());
    ResultSpool.grown(folder.toString(), 0, "f", 1, FREE + 1);
    JsonNode request = server.requests.get(0);
    assertEquals("statement-1", request.get("statement").textValue());
    assertEquals(32 << 20, request.get("disk_bytes").intValue());
    assertEquals(1, request.get("needed").intValue());
    ResultSpool.grown(folder.toString(), 0, "f", (32 << 20) - 1, 1L << 26);
    assertEquals(1, server.requests.size());
    ResultSpool.grown(folder.toString(), 0, "f", 1 << 26, 1L << 27);
    assertEquals(1 << 26, server.requests.get(1).get("disk_bytes").intValue());
  }

  @Test
  void refusedGrantFailsTheTask() {
    granted = "";
    server.requests.clear();
    assertThrows(Exception.class, () -> ResultSpool.grown(folder.toString(), 0, "f", FREE + 1, 0));
  }

  @Test
  void closedSpoolCountsNothing() throws IOException {
    spool.close();
    ResultSpool.grown(folder.toString(), 0, "f", 1L << 40, 1L << 40);
    assertTrue(server.requests.isEmpty());
  }

  @Test
  void secondRunHasItsOwnFolder() throws IOException {
    Path left = Files.write(folder.resolve("0.1"), new byte[3]);
    spool.add(0, part(10, 1));
    ResultSpool again = spool.again(null);
    assertFalse(Files.exists(left));
    assertEquals(folder.resolve("again").toString(), again.folder());
    assertEquals(0, again.rows());
    again.close();
    assertThrows(IOException.class, () -> spool.again(null));
  }

  /** Python's side of announced rows: the lines that were sent. */
  private static final class Announcements implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());

    Announcements() throws IOException {}

    FirstRowsNotifier notifier() {
      return new FirstRowsNotifier(
          new deltagateway.protocol.PythonCallbacks(listener.getLocalPort(), "password"),
          "statement-1",
          StructType.fromDDL("a INT"),
          "UTC");
    }

    /** Returns the lines after the password, of a connection that is closed. */
    List<String> lines() throws IOException {
      try (Socket socket = listener.accept();
          BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()))) {
        return in.lines().skip(1).toList();
      }
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }

  private ResultSpool announced(FirstRowsNotifier notifier) throws Exception {
    return new ResultSpool(
        ResultRequests.request(folder, 1 << 30, null, null), server.callbacks(), notifier);
  }

  @Test
  void growingFileOfTheFirstPartitionIsAnnounced() throws Exception {
    try (Announcements python = new Announcements()) {
      ResultSpool announced = announced(python.notifier());
      ResultSpool.grown(folder.toString(), 1, "/spool/1", 10, 10);
      assertFalse(announced.hasAnnounced());
      ResultSpool.grown(folder.toString(), 0, "/spool/0", 100, 100);
      assertTrue(announced.hasAnnounced());
      ResultSpool.grown(folder.toString(), 0, "/spool/0", 1, 101); // too little to announce
      announced.add(0, new ArrowPartition.Part(null, "/spool/0", 101, 8, 1));
      announced.close();
      List<String> lines = python.lines();
      assertTrue(lines.get(0).contains("\"statement\":\"statement-1\""), lines.get(0));
      assertEquals(
          List.of("[\"/spool/0\",0,100]", "[\"/spool/0\",0,101]", "[\"/spool/1\",0,10]"),
          lines.subList(1, lines.size()));
    }
  }

  @Test
  void announcedPartitionMustNotBeComputedAgain() throws Exception {
    try (Announcements python = new Announcements()) {
      ResultSpool announced = announced(python.notifier());
      ResultSpool.grown(folder.toString(), 0, "/spool/0.1", 100, 100);
      assertThrows(
          IllegalStateException.class,
          () -> announced.add(0, new ArrowPartition.Part(null, "/spool/0.2", 100, 8, 1)));
      announced.close();
    }
  }

  @Test
  void smallResultIsNotAnnounced() throws Exception {
    try (Announcements python = new Announcements()) {
      ResultSpool announced = announced(python.notifier());
      announced.add(0, part(100, 1));
      assertFalse(announced.hasAnnounced());
      announced.close();
    }
  }

  @Test
  void failedAnnouncementDoesNotFailTheResult() throws Exception {
    Announcements python = new Announcements();
    FirstRowsNotifier notifier = python.notifier();
    python.close();
    ResultSpool announced = announced(notifier);
    ResultSpool.grown(folder.toString(), 0, "/spool/0", 100, 100);
    assertTrue(announced.add(0, new ArrowPartition.Part(null, "/spool/0", 100, 8, 1)));
    assertEquals(1, announced.rows());
    announced.close();
  }

  @Test
  void columnsOfASlowQueryAreAnnouncedAlone() throws Exception {
    try (Announcements python = new Announcements()) {
      FirstRowsNotifier notifier = python.notifier();
      try (Socket socket = python.listener.accept()) {
        BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        assertEquals("password", in.readLine());
        assertTrue(in.readLine().contains("\"columns\""));
        notifier.close();
        assertNull(in.readLine());
      }
    }
  }

  @Test
  void bytesOfAPartAreDroppedOnceTheyAreStored() {
    ArrowPartition.Part part = part(10, 1);
    assertNull(part.withoutBytes().bytes());
    assertEquals(part.rows(), part.withoutBytes().rows());
    assertArrayEquals(new byte[] {1, 1}, java.util.Arrays.copyOf(part.bytes(), 2));
  }
}
