package deltagateway;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.TreeMap;

/**
 * Collects the parts of a result by partition, in whatever order they come: small results in memory, larger ones in
 * files that Python maps. {@link #segments} gives back the order of the partitions.
 */
final class ResultSpool {
  private static final int MEMORY_MAX = 256 << 10;

  private final File folder;
  private final long bytesMax;
  private final TreeMap segments = new TreeMap();
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private OutputStream spilled;
  private long inline;
  private long total;

  ResultSpool(File folder, long bytesMax) {
    this.folder = folder;
    this.bytesMax = bytesMax;
  }

  /** False as soon as the result is larger than its limit; nothing more is kept then. */
  synchronized boolean add(int partition, ArrowPartition.Part part) throws IOException {
    total += part.size;
    if (total > bytesMax) return false;
    if (part.size == 0) return true;
    if (part.path != null) {
      segments.put(Integer.valueOf(partition), new Segment(part.path, 0, part.size));
    } else {
      OutputStream out = target(part.size);
      segments.put(Integer.valueOf(partition), new Segment(null, inline, part.size));
      out.write(part.bytes);
      inline += part.size;
    }
    return true;
  }

  private OutputStream target(long more) throws IOException {
    if (spilled == null && inline + more > MEMORY_MAX) {
      spilled = new FileOutputStream(spillFile());
      memory.writeTo(spilled);
      memory.reset();
    }
    return spilled == null ? memory : spilled;
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

  synchronized byte[] bytes() {
    return memory.toByteArray();
  }

  synchronized void close() throws IOException {
    if (spilled != null) spilled.close();
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
