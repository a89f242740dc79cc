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

/**
 * Collects the parts of a result by partition, in whatever order they come: small results in
 * memory, larger ones in files that Python maps. {@link #segments} gives back the order of the
 * partitions.
 *
 * <p>Python grants the bytes that are written to files, but for the first few. Rows behind those
 * that are wanted are left out, and nobody has to compute them: the result has enough when the
 * partitions from the first one on have.
 *
 * <p>With an announcer, Python is told of the rows in files while others are computed: of the
 * partitions that ended, up to the first one that did not, and of what the task of that one has
 * written so far. Rows that were announced are final: where Spark computes their partition again,
 * the query fails.
 */
public final class ResultSpool {
  private static final int MEMORY_MAX = 256 << 10;

  /** Bytes of files that are not asked for, and about how many are asked for at once. */
  private static final long FREE_BYTES = 4 << 20;

  private static final long GRANT_BYTES = 32 << 20;

  /** The spools of this process that tasks tell of their files, by folder. */
  private static final Map<String, ResultSpool> GROWING = new ConcurrentHashMap<>();

  private final File folder;
  private final StatementRequest request;
  private final PythonCallbacks questions;
  private final FirstRowsNotifier announcer;
  private final TreeMap<Integer, Segment> segments = new TreeMap<>();
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private OutputStream spilled;
  private long inline;
  private long total;

  /** Rows, and bytes of values, of the partitions before the first one that did not end. */
  private int firstOpen;

  private long rows;
  private long values;
  private final Object granting = new Object();

  /** Of all files, and of that what Python has granted; guarded by `granting`. */
  private long filed;

  private long granted = FREE_BYTES;

  /** Partitions that ended, with what they gave, and the files of tasks that did not. */
  private final BitSet ended = new BitSet();

  private final Map<Integer, long[]> counts = new HashMap<>();
  private final Map<Integer, Segment> written = new HashMap<>();

  /**
   * The first partition of which not all is announced, and what is announced of it; whether
   * anything ever was.
   */
  private int next;

  private Segment announced;
  private boolean hasAnnounced;

  /** `announcer` is null for a result that is wanted as a whole. */
  public ResultSpool(
      StatementRequest request, PythonCallbacks questions, FirstRowsNotifier announcer) {
    this(new File(request.spoolPath), request, questions, announcer);
  }

  private ResultSpool(
      File folder,
      StatementRequest request,
      PythonCallbacks questions,
      FirstRowsNotifier announcer) {
    this.folder = folder;
    this.request = request;
    this.questions = questions;
    this.announcer = announcer;
    GROWING.put(folder.getPath(), this);
  }

  /**
   * For the rows of another run of the query, in place of this one, which is closed: in a folder of
   * its own, for tasks of the run that failed may still write. Files of which nobody was told go,
   * and their bytes are granted.
   */
  public ResultSpool again(FirstRowsNotifier announcer) throws IOException {
    File other = new File(folder, "again");
    if (!other.mkdir()) throw new IOException("There is no folder for the result");
    ResultSpool spool = new ResultSpool(other, request, questions, announcer);
    if (hasAnnounced()) return spool;
    File[] files = folder.listFiles();
    for (int i = 0; files != null && i < files.length; i++)
      if (files[i].isFile()) files[i].delete();
    synchronized (granting) {
      spool.granted = granted;
    }
    return spool;
  }

  /** Where tasks of this process write the files of their partitions. */
  public String folder() {
    return folder.getPath();
  }

  /**
   * Called by a task of this process whose partition has `more` bytes in the file at `path`, so
   * `size` so far.
   */
  static void grown(String folder, int partition, String path, long more, long size)
      throws IOException {
    ResultSpool spool = GROWING.get(folder);
    if (spool == null) return;
    spool.count(more);
    if (spool.announcer != null) spool.grown(partition, new Segment(path, 0, size));
  }

  synchronized void grown(int partition, Segment file) throws IOException {
    written.put(Integer.valueOf(partition), file);
    announce();
  }

  /**
   * Counts bytes of files; where Python grants no more, that is told to the statement there, and
   * the task fails.
   */
  private void count(long more) throws IOException {
    synchronized (granting) {
      filed += more;
      if (filed <= granted) return;
      ObjectNode question = StatementRequest.JSON.createObjectNode();
      question.put("statement", request.id);
      question.put("disk_bytes", Math.max(filed - granted, GRANT_BYTES));
      question.put("needed", filed - granted);
      granted += questions.value(question).get("granted").longValue();
    }
  }

  /** Whether Python was told of rows, which are final. */
  public synchronized boolean hasAnnounced() {
    return hasAnnounced;
  }

  /**
   * False as soon as the result is larger than its limit, or there is enough of it; nothing more is
   * kept then.
   */
  public synchronized boolean add(int partition, ArrowPartition.Part part) throws IOException {
    if (hasEnough()) return false;
    total += part.size;
    if (exceeded()) return false;
    ended.set(partition);
    counts.put(Integer.valueOf(partition), new long[] {part.rows, part.values});
    written.remove(Integer.valueOf(partition));
    if (part.size > 0) segments.put(Integer.valueOf(partition), kept(part));
    announce();
    for (; ended.get(firstOpen) && !hasEnough(); firstOpen++) {
      long[] count = counts.remove(Integer.valueOf(firstOpen));
      rows += count[0];
      values += count[1];
    }
    return !hasEnough();
  }

  /** Whether the partitions before the first open one have all that is wanted. */
  public synchronized boolean hasEnough() {
    return rows >= request.rowsWanted || values > request.bytesWanted;
  }

  private Segment kept(ArrowPartition.Part part) throws IOException {
    if (part.path != null) return new Segment(part.path, 0, part.size);
    if (inline + part.size > MEMORY_MAX) spill();
    Segment segment = new Segment(null, inline, part.size);
    if (spilled != null) count(part.size);
    (spilled == null ? memory : spilled).write(part.bytes);
    inline += part.size;
    return segment;
  }

  private void spill() throws IOException {
    if (spilled != null) return;
    spilled = new FileOutputStream(spillFile());
    memory.writeTo(spilled);
    memory.reset();
  }

  /** A result that fits in memory so far is not announced. */
  private void announce() throws IOException {
    if (announcer == null
        || (spilled == null && written.isEmpty() && announced == null && !hasFile())) return;
    spill();
    for (; ended.get(next); next++) {
      Segment segment = segments.get(Integer.valueOf(next));
      if (segment != null) announce(segment);
      else if (announced != null) throw computedAgain();
      announced = null;
    }
    Segment file = written.get(Integer.valueOf(next));
    if (file != null) announce(file);
  }

  private boolean hasFile() {
    for (Segment segment : segments.values()) if (segment.path != null) return true;
    return false;
  }

  private void announce(Segment segment) {
    if (announced != null && !announced.path.equals(segment.path))
      throw computedAgain(); // only files grow
    announcer.rows(
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
    return !hasEnough() && total > request.resultBytesMax;
  }

  /** Of the rows that are wanted. */
  public synchronized Iterable<Segment> segments() {
    return segments.headMap(Integer.valueOf(firstOpen)).values();
  }

  /** The file of the segments without a path, or null while they fit in memory. */
  public synchronized String spillPath() {
    return spilled == null ? null : spillFile().getPath();
  }

  /** How many there are in all segments. */
  public synchronized long rows() {
    return rows;
  }

  public synchronized byte[] bytes() {
    return memory.toByteArray();
  }

  public void close() throws IOException {
    GROWING.remove(folder.getPath());
    synchronized (this) {
      if (announcer != null) announcer.close();
      if (spilled != null) spilled.close();
    }
  }

  /** Where a partition's bytes are: `path` null means the spill file, or the bytes in memory. */
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
