package deltagateway.scan.deletionvectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.protocol.RejectionException;
import deltagateway.scan.TableRoot;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.roaringbitmap.RoaringBitmap;

/**
 * Deletion vectors in all storage types, and damaged ones (PROTOCOL.md, "Deletion Vector Format").
 */
class DeletionVectorTest {
  private static final int PORTABLE = 1681511377;
  private static final int NATIVE = 1681511376;
  private static final String Z85 =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  private static final long BUCKET = 1L << 32;

  @TempDir Path folder;

  private TableRoot root() {
    return new TableRoot(folder.toString(), new String[] {folder.toString()}, new String[0], true);
  }

  private List<Long> rows(String descriptor) {
    return rows(DeletionVector.read(descriptor, root(), new Configuration()), 0);
  }

  private static List<Long> rows(DeletionVector vector, long from) {
    DeletionVector.Rows rows = vector.from(from);
    List<Long> found = new ArrayList<>();
    for (long row = rows.next(); row != DeletionVector.Rows.END; row = rows.next()) found.add(row);
    assertEquals(DeletionVector.Rows.END, rows.next());
    return found;
  }

  private RejectionException refused(String descriptor) {
    return assertThrows(RejectionException.class, () -> rows(descriptor));
  }

  /** The bytes of a vector with a bitmap for each bucket of 2^32 rows. */
  private static byte[] portable(long[] keys, int[][] rows) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(little(12).putInt(PORTABLE).putLong(keys.length).array());
    for (int i = 0; i < keys.length; i++) {
      bytes.write(little(4).putInt((int) keys[i]).array());
      bytes.write(bitmap(rows[i]));
    }
    return bytes.toByteArray();
  }

  private static byte[] bitmap(int... rows) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    RoaringBitmap.bitmapOf(rows).serialize(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  private static ByteBuffer little(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Writes a file as writers do: a version, then the size, the bytes and their checksum. */
  private Path write(String name, byte[] data) throws IOException {
    CRC32 checksum = new CRC32();
    checksum.update(data);
    ByteBuffer frame =
        ByteBuffer.allocate(data.length + 9).put((byte) 1).putInt(data.length).put(data);
    frame.putInt((int) checksum.getValue());
    return Files.write(folder.resolve(name), frame.array());
  }

  private static String z85(byte[] data) {
    ByteBuffer in = ByteBuffer.wrap(data);
    StringBuilder text = new StringBuilder();
    while (in.hasRemaining()) {
      long number = in.getInt() & 0xFFFFFFFFL;
      char[] group = new char[5];
      for (int i = 4; i >= 0; i--, number /= 85) group[i] = Z85.charAt((int) (number % 85));
      text.append(group);
    }
    return text.toString();
  }

  private static String z85(UUID id) {
    return z85(
        ByteBuffer.allocate(16)
            .putLong(id.getMostSignificantBits())
            .putLong(id.getLeastSignificantBits())
            .array());
  }

  @Test
  void inlineVectorOfTheProtocolsExampleIsRead() {
    String inline = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
    assertEquals(List.of(3L, 4L, 7L, 11L, 18L, 29L), rows("i 0 40 6 " + inline));
  }

  @Test
  void vectorInAFileIsReadByItsPath() throws IOException {
    byte[] data = portable(new long[] {0, 2}, new int[][] {{0, 5, -1}, {7}});
    Path file = write("some.bin", data);
    assertEquals(
        List.of(0L, 5L, BUCKET - 1, 2 * BUCKET + 7), rows("p 1 " + data.length + " 4 " + file));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "ab", "a b"})
  void vectorInAFileIsReadByItsId(String prefix) throws IOException {
    byte[] data = portable(new long[] {0}, new int[][] {{1, 2}});
    UUID id = UUID.fromString("d2c639aa-8816-431a-aaf6-d3fe2512ff61");
    Files.createDirectories(folder.resolve(prefix));
    write((prefix.isEmpty() ? "" : prefix + "/") + "deletion_vector_" + id + ".bin", data);
    assertEquals(List.of(1L, 2L), rows("u 1 " + data.length + " 2 " + prefix + z85(id)));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nativeFormIsReadInBothByteOrders(boolean isBigEndian) throws IOException {
    byte[] first = bitmap(3);
    byte[] second = bitmap(4, 5);
    ByteBuffer data = ByteBuffer.allocate(16 + first.length + second.length);
    if (!isBigEndian) data.order(ByteOrder.LITTLE_ENDIAN);
    data.putInt(NATIVE).putInt(2).putInt(first.length).put(first).putInt(second.length).put(second);
    Path file = write("native.bin", data.array());
    assertEquals(
        List.of(3L, BUCKET + 4, BUCKET + 5), rows("p 1 " + data.capacity() + " 3 " + file));
  }

  @Test
  void rowsBeginAtAnyRow() throws IOException {
    byte[] data = portable(new long[] {0, 1, 3}, new int[][] {{2, 9}, {}, {0, 4}});
    Path file = write("some.bin", data);
    DeletionVector vector =
        DeletionVector.read("p 1 " + data.length + " 4 " + file, root(), new Configuration());
    List<Long> all = List.of(2L, 9L, 3 * BUCKET, 3 * BUCKET + 4);
    for (long from :
        new long[] {
          0, 2, 3, 9, 10, BUCKET, 3 * BUCKET, 3 * BUCKET + 1, 3 * BUCKET + 5, 9 * BUCKET
        }) {
      assertEquals(
          all.stream().filter(row -> row >= from).toList(), rows(vector, from), "from " + from);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "-1, deletion vector checksum", // the last byte of the checksum
    "5, deletion vector checksum", // the first byte of the data
    "2, deletion vector size", // the recorded size
  })
  void damagedByteIsNoticed(int position, String kind) throws IOException {
    byte[] data = portable(new long[] {0}, new int[][] {{1, 2}});
    Path file = write("some.bin", data);
    String descriptor = "p 1 " + data.length + " 2 " + file;
    assertEquals(List.of(1L, 2L), rows(descriptor));
    byte[] bytes = Files.readAllBytes(file);
    bytes[position < 0 ? bytes.length + position : position] ^= 1;
    Files.write(file, bytes);
    assertEquals(kind, refused(descriptor).kind());
  }

  @Test
  void otherNumberOfRowsThanTheLogHasIsNoticed() throws IOException {
    byte[] data = portable(new long[] {0}, new int[][] {{1, 2}});
    Path file = write("some.bin", data);
    RejectionException refusal = refused("p 1 " + data.length + " 3 " + file);
    assertEquals("deletion vector cardinality", refusal.kind());
    assertTrue(refusal.subject().endsWith("\n3\n2"), refusal.subject());
  }

  @Test
  void cutOrMissingFileIsNoticed() throws IOException {
    byte[] data = portable(new long[] {0}, new int[][] {{1, 2}});
    Path file = write("some.bin", data);
    Files.write(file, java.util.Arrays.copyOf(Files.readAllBytes(file), data.length));
    assertEquals("deletion vector size", refused("p 1 " + data.length + " 2 " + file).kind());
    Files.delete(file);
    assertEquals("deletion vector missing", refused("p 1 " + data.length + " 2 " + file).kind());
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, Integer.MAX_VALUE, (1 << 27) + 1})
  void sizeThatNoVectorHasIsRefusedBeforeTheFileIsRead(int size) {
    assertEquals(
        "deletion vector size",
        refused("p 1 " + size + " 2 " + folder.resolve("absent.bin")).kind());
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MIN_VALUE})
  void negativeOffsetIsRefused(long offset) {
    assertEquals(
        "deletion vector", refused("p " + offset + " 40 2 " + folder.resolve("absent.bin")).kind());
  }

  @Test
  void bucketsOutOfOrderAndUnknownFormsAreRefused() throws IOException {
    byte[][] malformed = {
      portable(new long[] {1, 1}, new int[][] {{1}, {2}}),
      portable(new long[] {2, 1}, new int[][] {{1}, {2}}),
      portable(new long[] {-1}, new int[][] {{1}}),
      little(12).putInt(PORTABLE + 1).putLong(0).array(),
      little(12).putInt(PORTABLE).putLong(1000).array(),
      little(12).putInt(PORTABLE).putLong(-1).array(),
      new byte[] {1, 2},
    };
    for (int i = 0; i < malformed.length; i++) {
      Path file = write(i + ".bin", malformed[i]);
      assertEquals(
          "deletion vector",
          refused("p 1 " + malformed[i].length + " 2 " + file).kind(),
          file.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"abcd", "abc~e", "#####", "x 0 4 0 abcde", "u 1 4 0 short"})
  void textThatIsNoVectorIsRefused(String text) {
    String descriptor = text.contains(" ") ? text : "i 0 4 0 " + text;
    assertEquals("deletion vector", refused(descriptor).kind());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/etc/vector.bin", "../vector.bin", "file:/etc/vector.bin"})
  void pathOutsideOfTheTableIsRefused(String path) {
    assertEquals("log path", refused("p 1 40 2 " + path).kind());
  }
}
