package deltagateway.result;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * Collects the parts of a result by partition, in any order: small results in memory, larger ones
 * in files that Python maps. {@link #segments} has the order of the partitions.
 *
 * <p>Python grants the bytes that are written to files, except for the first ones. Rows after the
 * wanted ones are left out and need not be computed: the result is complete when the partitions
 * from the first one on have enough rows.
 *
 * <p>With a notifier, rows in files are announced to Python while others are computed: those of the
 * partitions that have ended, up to the first one that has not, and those that the task of that one
 * has written so far. Announced rows are final: if Spark computes their partition again, the query
 * fails.
 */
public final class ResultSpool {
  private static final int MEMORY_BYTES_MAX = 256 << 10;

  /** Bytes of files that need no grant, and about how many are requested at once. */
  private static final long FREE_BYTES = 4 << 20;

  private static final long GRANT_BYTES = 32 << 20;

  /** The open spools of this process, by folder, for tasks that write files. */
  private static final Map<String, ResultSpool> OPEN = new ConcurrentHashMap<>();

  /** Names of the files that tasks of other processes may have: partition and attempt. */
  private static final Pattern ATTEMPT = Pattern.compile("[0-9]+[.][0-9]+");

  private final File folder;
  private final StatementRequest request;
  private final PythonCallbacks callbacks;
  private final FirstRowsNotifier notifier;
  private final TreeMap<Integer, Segment> segments = new TreeMap<>();
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private OutputStream spilled;
  private long inlineBytes;
  private long totalBytes;

  /** Rows, and bytes of values, of the partitions before the first one that has not ended. */
  private int firstOpen;

  private long rows;
  private long values;
  private final Object granting = new Object();

  /** Bytes of all files, and those that Python has granted; guarded by `granting`. */
  private long fileBytes;

  private long grantedBytes = FREE_BYTES;

  /** Partitions that have ended, their numbers of rows and values, and files of open tasks. */
  private final BitSet ended = new BitSet();

  private final Map<Integer, ArrowPartition.Part> uncounted = new HashMap<>();
  private final Map<Integer, Segment> written = new HashMap<>();

  /** The first partition that is not announced completely, and its announced part. */
  private int next;

  private Segment announced;
  private boolean hasAnnounced;

  /** `notifier` is null for a result that is read as a whole. */
  public ResultSpool(
      StatementRequest request, PythonCallbacks callbacks, FirstRowsNotifier notifier) {
    this(new File(request.spoolPath), request, callbacks, notifier);
  }

  private ResultSpool(
      File folder,
      StatementRequest request,
      PythonCallbacks callbacks,
      FirstRowsNotifier notifier) {
    this.folder = folder;
    this.request = request;
    this.callbacks = callbacks;
    this.notifier = notifier;
    OPEN.put(folder.getPath(), this);
  }

  /**
   * Returns a spool for another run of the query, in place of this one, which is closed. It has its
   * own folder, since tasks of the failed run may still write. Files that were not announced are
   * deleted, and their bytes stay granted.
   */
  public ResultSpool again(FirstRowsNotifier notifier) throws IOException {
    File other = new File(folder, "again");
    if (!other.mkdir()) throw new IOException("There is no folder for the result");
    ResultSpool spool = new ResultSpool(other, request, callbacks, notifier);
    if (hasAnnounced()) return spool;
    File[] files = folder.listFiles(File::isFile);
    for (File file : files == null ? new File[0] : files) file.delete();
    synchronized (granting) {
      spool.grantedBytes = grantedBytes;
    }
    return spool;
  }

  /** Returns the folder in which tasks of this process write the files of their partitions. */
  public String folder() {
    return folder.getPath();
  }

  /**
   * Called by a task of this process whose partition has `more` bytes in the file at `path`, which
   * has `size` bytes.
   */
  static void grown(String folder, int partition, String path, long more, long size)
      throws IOException {
    ResultSpool spool = OPEN.get(folder);
    if (spool == null) return;
    spool.count(more);
    if (spool.notifier != null) spool.grown(partition, new Segment(path, 0, size));
  }

  /**
   * Appends bytes that a task of another process sent to the file `name` in the folder; its rows
   * count when the task has ended, since another attempt may follow. Returns the file's path.
   */
  static String append(String folder, String name, byte[] bytes) throws IOException {
    ResultSpool spool = OPEN.get(folder);
    if (spool == null) throw new IOException("No statement waits for these rows");
    if (!ATTEMPT.matcher(name).matches()) throw new IOException("Not a task's file: " + name);
    spool.count(bytes.length);
    File file = new File(folder, name);
    try (OutputStream out = new FileOutputStream(file, true)) {
      out.write(bytes);
    }
    return file.getPath();
  }

  private synchronized void grown(int partition, Segment file) throws IOException {
    written.put(partition, file);
    announce();
  }

  /** Counts bytes of files. If Python grants no more, the task and the statement fail. */
  private void count(long more) throws IOException {
    synchronized (granting) {
      fileBytes += more;
      long needed = fileBytes - grantedBytes;
      if (needed <= 0) return;
      ObjectNode grant = StatementRequest.JSON.createObjectNode();
      grant.put("statement", request.id);
      grant.put("disk_bytes", Math.max(needed, GRANT_BYTES));
      grant.put("needed", needed);
      grantedBytes += callbacks.value(grant).get("granted").longValue();
    }
  }

  /** Returns whether rows were announced to Python, which are final. */
  public synchronized boolean hasAnnounced() {
    return hasAnnounced;
  }

  /**
   * Adds a part. Returns false if the result exceeds its limit or is complete; later parts are
   * dropped.
   */
  public synchronized boolean add(int partition, ArrowPartition.Part part) throws IOException {
    if (hasEnough()) return false;
    totalBytes += part.size();
    if (exceeded()) return false;
    ended.set(partition);
    uncounted.put(partition, part.withoutBytes());
    written.remove(partition);
    if (part.size() > 0) segments.put(partition, stored(part));
    announce();
    for (; ended.get(firstOpen) && !hasEnough(); firstOpen++) {
      ArrowPartition.Part counted = uncounted.remove(firstOpen);
      rows += counted.rows();
      values += counted.values();
    }
    return !hasEnough();
  }

  /** Returns whether the partitions before the first open one have all wanted rows. */
  public synchronized boolean hasEnough() {
    return rows >= request.rowsWanted || values > request.bytesWanted;
  }

  private Segment stored(ArrowPartition.Part part) throws IOException {
    if (part.path() != null) return new Segment(part.path(), 0, part.size());
    if (inlineBytes + part.size() > MEMORY_BYTES_MAX) spill();
    Segment segment = new Segment(null, inlineBytes, part.size());
    if (spilled != null) count(part.size());
    (spilled == null ? memory : spilled).write(part.bytes());
    inlineBytes += part.size();
    return segment;
  }

  private void spill() throws IOException {
    if (spilled != null) return;
    spilled = new FileOutputStream(spillFile());
    memory.writeTo(spilled);
    memory.reset();
  }

  /** Announces new rows. A result that fits in memory so far is not announced. */
  private void announce() throws IOException {
    if (notifier == null
        || (spilled == null && written.isEmpty() && announced == null && !hasFile())) return;
    spill();
    for (; ended.get(next); next++) {
      Segment segment = segments.get(next);
      if (segment != null) announce(segment);
      else if (announced != null) throw computedAgain();
      announced = null;
    }
    Segment file = written.get(next);
    if (file != null) announce(file);
  }

  private boolean hasFile() {
    return segments.values().stream().anyMatch(segment -> segment.path != null);
  }

  private void announce(Segment segment) {
    // Another file than before means that Spark has computed the partition again.
    if (announced != null && !announced.path.equals(segment.path)) throw computedAgain();
    notifier.rows(
        segment.path != null
            ? segment
            : new Segment(spillFile().getPath(), segment.offset, segment.length));
    announced = segment;
    hasAnnounced = true;
  }

  private static IllegalStateException computedAgain() {
    return new IllegalStateException(
        "Rows of the result were lost after some of them had been sent");
  }

  private File spillFile() {
    return new File(folder, "driver");
  }

  public synchronized boolean exceeded() {
    return !hasEnough() && totalBytes > request.resultBytesMax;
  }

  /** Returns the segments of the wanted rows. */
  public synchronized Iterable<Segment> segments() {
    return segments.headMap(firstOpen).values();
  }

  /** Returns the file of the segments without a path, or null while they fit in memory. */
  public synchronized String spillPath() {
    return spilled == null ? null : spillFile().getPath();
  }

  /** Returns the number of rows in all segments. */
  public synchronized long rows() {
    return rows;
  }

  public synchronized byte[] bytes() {
    return memory.toByteArray();
  }

  public void close() throws IOException {
    OPEN.remove(folder.getPath());
    synchronized (this) {
      if (notifier != null) notifier.close();
      if (spilled != null) spilled.close();
    }
  }

  /** Location of a partition's bytes; without `path`, the spill file or the bytes in memory. */
  public static final class Segment {
    public final String path;
    public final long offset;
    public final long length;

    Segment(String path, long offset, long length) {
      this.path = path;
      this.offset = offset;
      this.length = length;
    }
  }
}
