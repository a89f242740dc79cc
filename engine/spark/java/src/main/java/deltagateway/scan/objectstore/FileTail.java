package deltagateway.scan.objectstore;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;
import org.apache.parquet.hadoop.util.wrapped.io.FutureIO;

/**
 * The last bytes of the data file that a thread reads, or all bytes of a small one, by one request
 * ({@link VectoredFileSystem}).
 */
public final class FileTail {
  private static final ThreadLocal<FileTail> CURRENT = new ThreadLocal<>();

  /** Files up to this size are read as a whole: a second request takes longer than the rest. */
  static final int WHOLE_BYTES_MAX = 1 << 20;

  /** Contains most footers, and the page indexes before them. */
  static final int TAIL_BYTES = 256 << 10;

  private static final int BLOCK_SIZE = 128 << 20;

  /** Ends of Parquet files; the second is that of an encrypted footer. */
  private static final Set<String> MAGIC = Set.of("PAR1", "PARE");

  /** Tails of larger files, which may have several splits, by stage and path; guarded by itself. */
  private static final Map<String, CompletableFuture<byte[]>> SHARED = new LinkedHashMap<>();

  private static final int SHARED_MAX = 64;

  private final int stage;
  final Path file;
  final long length;
  private final long modifiedMs;

  /** The bytes from `start` on; null before they are read. */
  byte[] bytes;

  long start;
  private FSDataInputStream first;
  private boolean isInvalid;

  private FileTail(int stage, Path file, long length, long modifiedMs) {
    this.stage = stage;
    this.file = file;
    this.length = length;
    this.modifiedMs = modifiedMs;
  }

  /** Starts a file of a stage's scan in this thread. The log has its length. */
  public static void begin(int stage, Path file, long length, long modifiedMs) {
    end();
    CURRENT.set(new FileTail(stage, file, length, modifiedMs));
  }

  /** Ends the file of this thread. */
  public static void end() {
    FileTail current = CURRENT.get();
    CURRENT.remove();
    if (current != null) current.closeFirst();
  }

  /** Returns null if this thread reads another file, or the file does not match the log. */
  static FileTail of(Path file) {
    FileTail current = CURRENT.get();
    return current == null || current.isInvalid || !current.file.equals(file) ? null : current;
  }

  /** Returns null if the file does not match the log. */
  FileStatus status(FileSystem store) throws IOException {
    if (bytes == null && !isInvalid) {
      bytes = length <= WHOLE_BYTES_MAX ? read(store) : shared(store);
      isInvalid = bytes == null;
      if (!isInvalid) start = length - bytes.length;
    }
    return isInvalid ? null : new FileStatus(length, false, 1, BLOCK_SIZE, modifiedMs, file);
  }

  /** Reads the tail once for all splits. */
  private byte[] shared(FileSystem store) throws IOException {
    CompletableFuture<byte[]> own = new CompletableFuture<>();
    CompletableFuture<byte[]> other = putIfAbsent(stage + " " + file, own);
    if (other == null) {
      byte[] read = null;
      try {
        read = read(store);
      } finally {
        own.complete(read);
      }
      return read;
    }
    try {
      byte[] read = other.get();
      return read == null ? read(store) : read;
    } catch (ExecutionException never) {
      return read(store);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted before " + file + " was read");
    }
  }

  private static CompletableFuture<byte[]> putIfAbsent(String key, CompletableFuture<byte[]> tail) {
    synchronized (SHARED) {
      if (!SHARED.containsKey(key) && SHARED.size() >= SHARED_MAX)
        SHARED.remove(SHARED.keySet().iterator().next());
      return SHARED.putIfAbsent(key, tail);
    }
  }

  /** Returns null if the file does not match the log. */
  private byte[] read(FileSystem store) throws IOException {
    int count = (int) Math.min(length, length <= WHOLE_BYTES_MAX ? WHOLE_BYTES_MAX : TAIL_BYTES);
    byte[] read = new byte[count];
    try {
      first = connect(store);
      first.readFully(length - count, read);
      if (endsParquet(read)) return read;
    } catch (InterruptedIOException interrupted) {
      closeFirst();
      throw interrupted;
    } catch (IOException failure) {
      // The connector reports it when the file is opened without its length.
    }
    closeFirst();
    return null;
  }

  private static boolean endsParquet(byte[] read) {
    int end = read.length;
    return end >= 4
        && MAGIC.contains(
            new String(Arrays.copyOfRange(read, end - 4, end), StandardCharsets.ISO_8859_1));
  }

  FSDataInputStream open(FileSystem store) throws IOException {
    FSDataInputStream rest = first == null ? connect(store) : first;
    first = null;
    return new FSDataInputStream(new PrefetchedTailStream(this, rest));
  }

  /** Opens the file; with a length, the connector sends no request before the first read. */
  private FSDataInputStream connect(FileSystem store) throws IOException {
    FutureDataInputStreamBuilder builder = store.openFile(file);
    builder.opt("fs.option.openfile.length", Long.toString(length));
    builder.opt("fs.option.openfile.read.policy", "random");
    return FutureIO.awaitFuture(builder.build());
  }

  private void closeFirst() {
    IOUtils.closeStream(first);
    first = null;
  }
}
