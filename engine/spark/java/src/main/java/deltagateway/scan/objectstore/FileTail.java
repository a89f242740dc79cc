package deltagateway.scan.objectstore;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.util.wrapped.io.FutureIO;

/**
 * The last bytes of the data file that a thread reads, or all of a small one, by one request
 * ({@link VectoredFileSystem}).
 */
public final class FileTail {
  private static final ThreadLocal<FileTail> CURRENT = new ThreadLocal<>();

  /** A file of so many bytes is read as a whole: a second request takes longer than the rest. */
  private static final int WHOLE_MAX = 1 << 20;

  /** Most footers are in so many bytes, with the indexes of pages before them. */
  private static final int END = 256 << 10;

  private static final int BLOCK_SIZE = 128 << 20;

  /**
   * Of larger files, which may have several splits: stage and path -> its future; guarded by
   * itself.
   */
  private static final Map<String, CompletableFuture<byte[]>> SHARED = new LinkedHashMap<>();

  private static final int SHARED_MAX = 64;

  private final int stage;
  final Path file;
  final long length;
  private final long modifiedMs;

  /** From `start` on; null before it is read. */
  byte[] bytes;

  long start;
  private FSDataInputStream first;
  private boolean isOther;

  private FileTail(int stage, Path file, long length, long modifiedMs) {
    this.stage = stage;
    this.file = file;
    this.length = length;
    this.modifiedMs = modifiedMs;
  }

  /** The thread goes on with a file of a stage's scan, which is said to be of so many bytes. */
  public static void begin(int stage, Path file, long length, long modifiedMs) {
    end();
    CURRENT.set(new FileTail(stage, file, length, modifiedMs));
  }

  /** The thread reads no file. */
  public static void end() {
    FileTail before = CURRENT.get();
    CURRENT.remove();
    if (before != null) before.closeFirst();
  }

  /** null: the thread has not begun with that file, or it is not what it is said to be. */
  static FileTail of(Path file) {
    FileTail current = CURRENT.get();
    return current == null || current.isOther || !current.file.equals(file) ? null : current;
  }

  /** null where the file is not what it is said to be. */
  FileStatus status(FileSystem store) throws IOException {
    if (bytes == null && !isOther) {
      bytes = length <= WHOLE_MAX ? read(store) : shared(store);
      isOther = bytes == null;
      if (!isOther) start = length - bytes.length;
    }
    return isOther ? null : new FileStatus(length, false, 1, BLOCK_SIZE, modifiedMs, file);
  }

  /** As `read`, once for all splits. */
  private byte[] shared(FileSystem store) throws IOException {
    String key = stage + " " + file;
    CompletableFuture<byte[]> own = new CompletableFuture<>();
    CompletableFuture<byte[]> found = known(key, own);
    if (found == null) {
      byte[] read = null;
      try {
        read = read(store);
      } finally {
        own.complete(read);
      }
      return read;
    }
    try {
      byte[] read = found.get();
      return read == null ? read(store) : read;
    } catch (ExecutionException never) {
      return read(store);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted before " + file + " was read");
    }
  }

  /** null: nobody has begun to read it, and `own` is known from now on. */
  private static CompletableFuture<byte[]> known(String key, CompletableFuture<byte[]> own) {
    synchronized (SHARED) {
      CompletableFuture<byte[]> found = SHARED.get(key);
      if (found != null) return found;
      if (SHARED.size() >= SHARED_MAX) SHARED.remove(SHARED.keySet().iterator().next());
      SHARED.put(key, own);
      return null;
    }
  }

  /** null where the file is not what it is said to be. */
  private byte[] read(FileSystem store) throws IOException {
    int count = (int) Math.min(length, length <= WHOLE_MAX ? WHOLE_MAX : END);
    byte[] read = new byte[count];
    try {
      first = connect(store);
      first.readFully(length - count, read);
      if (endsParquet(read)) return read;
    } catch (InterruptedIOException interrupted) {
      closeFirst();
      throw interrupted;
    } catch (IOException failure) {
      // The store says what is wrong when it is asked for the file.
    }
    closeFirst();
    return null;
  }

  /** `PAR1`, or `PARE` where the footer is encrypted. */
  private static boolean endsParquet(byte[] end) {
    int at = end.length - 4;
    return at >= 0
        && end[at] == 'P'
        && end[at + 1] == 'A'
        && end[at + 2] == 'R'
        && (end[at + 3] == '1' || end[at + 3] == 'E');
  }

  FSDataInputStream open(FileSystem store) throws IOException {
    FSDataInputStream rest = first == null ? connect(store) : first;
    first = null;
    return new FSDataInputStream(new PrefetchedTailStream(this, rest));
  }

  /** The connector asks for nothing until something is read. */
  private FSDataInputStream connect(FileSystem store) throws IOException {
    FutureDataInputStreamBuilder builder = store.openFile(file);
    builder.opt("fs.option.openfile.length", Long.toString(length));
    builder.opt("fs.option.openfile.read.policy", "random");
    return FutureIO.awaitFuture(builder.build());
  }

  private void closeFirst() {
    try {
      if (first != null) first.close();
    } catch (IOException failure) {
      // nothing was written
    }
    first = null;
  }
}
