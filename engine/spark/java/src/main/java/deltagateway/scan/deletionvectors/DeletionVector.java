package deltagateway.scan.deletionvectors;

import deltagateway.protocol.RejectionException;
import deltagateway.scan.TableRoot;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.UUID;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/**
 * Deleted rows of one data file. The task that reads the data file reads its vector, so that the
 * executors decode the vectors of a table and the driver loads none of their bytes.
 *
 * <p>Protocol: "Deletion Vector Format". Every size, checksum and count is verified, as in
 * `engine/storage/deletion_vectors.py`.
 */
public final class DeletionVector {
  private static final int PORTABLE = 1681511377;
  private static final int NATIVE = 1681511376;
  private static final int FRAME_BYTES = 8;
  private static final int BYTES_MAX = 1 << 27;
  private static final int BUCKET_BYTES_MIN = 12;
  private static final int UUID_CHARACTERS = 20;
  private static final String Z85 =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

  private final long[] keys;
  private final RoaringBitmap[] bitmaps;

  private DeletionVector(long[] keys, RoaringBitmap[] bitmaps) {
    this.keys = keys;
    this.bitmaps = bitmaps;
  }

  /**
   * Reads a vector. `descriptor` is storage type, offset, size, cardinality and path or inline
   * text, separated by blanks.
   */
  static DeletionVector read(String descriptor, TableRoot root, Configuration conf) {
    String[] parts = descriptor.split(" ", 5);
    int size = Integer.parseInt(parts[2]);
    String source = parts[0].equals("i") ? "(inline)" : path(parts[0], parts[4], root).toString();
    byte[] data =
        parts[0].equals("i")
            ? inline(parts[4], size)
            : framed(
                real(path(parts[0], parts[4], root), root), Long.parseLong(parts[1]), size, conf);
    DeletionVector vector;
    try {
      vector = parse(ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN));
    } catch (Exception malformed) {
      throw new RejectionException("deletion vector", source + "\n" + malformed);
    }
    long expected = Long.parseLong(parts[3]);
    if (vector.cardinality() != expected) {
      throw new RejectionException(
          "deletion vector cardinality", source + "\n" + expected + "\n" + vector.cardinality());
    }
    return vector;
  }

  private static Path path(String storageType, String text, TableRoot root) {
    if (storageType.equals("p")) return root.resolve(text);
    if (!storageType.equals("u") || text.length() < UUID_CHARACTERS) {
      throw new RejectionException(
          "deletion vector", text + "\nits storage type " + storageType + " is not known");
    }
    int cut = text.length() - UUID_CHARACTERS;
    ByteBuffer bits = ByteBuffer.wrap(z85(text.substring(cut)));
    String name = "deletion_vector_" + new UUID(bits.getLong(), bits.getLong()) + ".bin";
    return root.resolveBelow(cut == 0 ? name : text.substring(0, cut) + "/" + name);
  }

  private static Path real(Path path, TableRoot root) {
    root.ensureReal(path);
    return path;
  }

  private static byte[] inline(String text, int size) {
    byte[] data = z85(text);
    if (size < 0 || size > data.length) throw wrongSize("(inline)", size, data.length);
    return Arrays.copyOf(data, size);
  }

  private static byte[] framed(Path path, long offset, int size, Configuration conf) {
    if (size < 0 || size > BYTES_MAX) throw wrongSize(path.toString(), size, 0);
    if (offset < 0)
      throw new RejectionException("deletion vector", path + "\nits offset is " + offset);
    byte[] frame;
    try (FSDataInputStream in = path.getFileSystem(conf).open(path)) {
      in.seek(offset);
      // Allocates as bytes arrive, whatever the size claims.
      frame = in.readNBytes(size + FRAME_BYTES);
    } catch (FileNotFoundException missing) {
      throw new RejectionException("deletion vector missing", path.toString());
    } catch (EOFException tooShort) {
      throw wrongSize(path.toString(), size, 0);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    int found = frame.length;
    if (found < size + FRAME_BYTES)
      throw wrongSize(path.toString(), size, Math.max(0, found - FRAME_BYTES));
    ByteBuffer buffer = ByteBuffer.wrap(frame);
    int recorded = buffer.getInt(0);
    if (recorded != size) throw wrongSize(path.toString(), size, recorded);
    CRC32 checksum = new CRC32();
    checksum.update(frame, 4, size);
    if ((int) checksum.getValue() != buffer.getInt(4 + size)) {
      throw new RejectionException("deletion vector checksum", path.toString());
    }
    return Arrays.copyOfRange(frame, 4, 4 + size);
  }

  private static RejectionException wrongSize(String source, int expected, int actual) {
    return new RejectionException("deletion vector size", source + "\n" + expected + "\n" + actual);
  }

  /**
   * Parses a bitmap array. The portable format has a 64-bit count and keys, the older native one a
   * 32-bit count, lengths, and keys by position.
   */
  private static DeletionVector parse(ByteBuffer in) throws IOException {
    int magic = in.getInt();
    boolean isNative = magic == NATIVE || Integer.reverseBytes(magic) == NATIVE;
    if (!isNative && magic != PORTABLE) throw new IOException("unknown magic number " + magic);
    if (isNative && magic != NATIVE) in.order(ByteOrder.BIG_ENDIAN);
    long count = isNative ? in.getInt() : in.getLong();
    if (count < 0 || count > in.remaining() / BUCKET_BYTES_MIN)
      throw new IOException("a count of " + count);
    long[] keys = new long[(int) count];
    RoaringBitmap[] bitmaps = new RoaringBitmap[keys.length];
    for (int i = 0; i < keys.length; i++) {
      int head = in.getInt();
      keys[i] = isNative ? i : head;
      if (keys[i] < 0 || (i > 0 && keys[i] <= keys[i - 1]))
        throw new IOException("keys out of order");
      bitmaps[i] = new RoaringBitmap();
      bitmaps[i].deserialize(in.slice().order(ByteOrder.LITTLE_ENDIAN));
      in.position(in.position() + bitmaps[i].serializedSizeInBytes());
    }
    return new DeletionVector(keys, bitmaps);
  }

  private long cardinality() {
    return Arrays.stream(bitmaps).mapToLong(RoaringBitmap::getLongCardinality).sum();
  }

  /** Decodes Z85 (ZeroMQ RFC 32): five digits of base 85 for four bytes, big-endian. */
  private static byte[] z85(String text) {
    ByteBuffer bytes = ByteBuffer.allocate(text.length() / 5 * 4);
    if (text.length() % 5 != 0) throw invalidZ85(text);
    for (int group = 0; group < text.length(); group += 5) {
      long number = 0;
      for (int i = group; i < group + 5; i++) {
        int digit = Z85.indexOf(text.charAt(i));
        if (digit < 0) throw invalidZ85(text);
        number = number * 85 + digit;
      }
      if (number >>> 32 != 0) throw invalidZ85(text);
      bytes.putInt((int) number);
    }
    return bytes.array();
  }

  private static RejectionException invalidZ85(String text) {
    return new RejectionException("deletion vector", text + "\nno text of Z85");
  }

  /** Returns the deleted rows from `row` on, in ascending order. */
  Rows from(long row) {
    return new Rows(row);
  }

  /** Iterates over deleted rows. */
  final class Rows {
    static final long END = Long.MAX_VALUE;

    private int bucket;
    private PeekableIntIterator iterator;

    private Rows(long row) {
      while (bucket < keys.length && keys[bucket] < row >>> 32) bucket++;
      open();
      if (iterator != null && keys[bucket] == row >>> 32) iterator.advanceIfNeeded((int) row);
    }

    private void open() {
      iterator = bucket < keys.length ? bitmaps[bucket].getIntIterator() : null;
    }

    /** Returns the next row, or {@link #END} after the last one. */
    long next() {
      while (iterator != null && !iterator.hasNext()) {
        bucket++;
        open();
      }
      return iterator == null ? END : keys[bucket] << 32 | (iterator.next() & 0xFFFFFFFFL);
    }
  }
}
