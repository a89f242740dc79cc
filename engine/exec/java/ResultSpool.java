package deltagateway;

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
 * Collects the parts of a result by partition, in whatever order they come: small results in memory, larger ones in
 * files that Python maps. {@link #segments} gives back the order of the partitions.
 *
 * With an announcer, Python is told of the rows in files while others are computed: of the partitions that ended, up to
 * the first one that did not, and of what the task of that one has written so far. Rows that were announced are final:
 * where Spark computes their partition again, the query fails.
 */
final class ResultSpool {
  private static final int MEMORY_MAX = 256 << 10;
  /** The spools of this process that tasks tell of their files, by folder. */
  private static final Map GROWING = new ConcurrentHashMap();

  private final File folder;
  private final long bytesMax;
  private final RowAnnouncer announcer;
  private final TreeMap segments = new TreeMap();
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private OutputStream spilled;
  private long inline;
  private long total;
  private long rows;

  /** Partitions that ended, and the files of tasks that did not. */
  private final BitSet ended = new BitSet();
  private final Map written = new HashMap();
  /** The first partition of which not all is announced, and what is announced of it. */
  private int next;
  private Segment announced;

  /** `announcer` is null for a result that is wanted as a whole. */
  ResultSpool(File folder, long bytesMax, RowAnnouncer announcer) {
    this.folder = folder;
    this.bytesMax = bytesMax;
    this.announcer = announcer;
    if (announcer != null) GROWING.put(folder.getPath(), this);
  }

  /** Called by a task of this process whose partition has `size` bytes in the file at `path` so far. */
  static void grown(String folder, int partition, String path, long size) throws IOException {
    ResultSpool spool = (ResultSpool) GROWING.get(folder);
    if (spool != null) spool.grown(partition, new Segment(path, 0, size));
  }

  private synchronized void grown(int partition, Segment file) throws IOException {
    written.put(Integer.valueOf(partition), file);
    announce();
  }

  /** False as soon as the result is larger than its limit; nothing more is kept then. */
  synchronized boolean add(int partition, ArrowPartition.Part part) throws IOException {
    total += part.size;
    if (total > bytesMax) return false;
    rows += part.rows;
    ended.set(partition);
    written.remove(Integer.valueOf(partition));
    if (part.size > 0) segments.put(Integer.valueOf(partition), kept(part));
    announce();
    return true;
  }

  private Segment kept(ArrowPartition.Part part) throws IOException {
    if (part.path != null) return new Segment(part.path, 0, part.size);
    if (inline + part.size > MEMORY_MAX) spill();
    Segment segment = new Segment(null, inline, part.size);
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
    if (announcer == null || (spilled == null && written.isEmpty() && announced == null && !hasFile())) return;
    spill();
    for (; ended.get(next); next++) {
      Segment segment = (Segment) segments.get(Integer.valueOf(next));
      if (segment != null) announce(segment);
      else if (announced != null) throw computedAgain();
      announced = null;
    }
    Segment file = (Segment) written.get(Integer.valueOf(next));
    if (file != null) announce(file);
  }

  private boolean hasFile() {
    for (Object segment : segments.values()) if (((Segment) segment).path != null) return true;
    return false;
  }

  private void announce(Segment segment) {
    if (announced != null && !announced.path.equals(segment.path)) throw computedAgain(); // only files grow
    announcer.rows(
        segment.path != null ? segment : new Segment(spillFile().getPath(), segment.offset, segment.length));
    announced = segment;
  }

  private static IllegalStateException computedAgain() {
    return new IllegalStateException("Rows of the result were lost after some of them had been sent");
  }

  private File spillFile() {
    return new File(folder, "driver");
  }

  synchronized boolean exceeded() {
    return total > bytesMax;
  }

  synchronized Iterable segments() {
    return segments.values();
  }

  /** The file of the segments without a path, or null while they fit in memory. */
  synchronized String spillPath() {
    return spilled == null ? null : spillFile().getPath();
  }

  /** How many there are in all segments. */
  synchronized long rows() {
    return rows;
  }

  synchronized byte[] bytes() {
    return memory.toByteArray();
  }

  void close() throws IOException {
    GROWING.remove(folder.getPath());
    synchronized (this) {
      if (announcer != null) announcer.close();
      if (spilled != null) spilled.close();
    }
  }

  /** Where a partition's bytes are: `path` null means the spill file, or the bytes in memory. */
  static final class Segment {
    final String path;
    final long offset;
    final long length;

    Segment(String path, long offset, long length) {
      this.path = path;
      this.offset = offset;
      this.length = length;
    }
  }
}
