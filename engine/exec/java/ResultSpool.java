package deltagateway;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.TreeMap;

/**
 * Collects Arrow batches by partition, in whatever order they come: small results in memory, larger ones in a file that
 * Python maps. {@link #segments} gives back the order of the partitions.
 */
final class ResultSpool {
  private static final int MEMORY_MAX = 256 << 10;

  private final File file;
  private final long bytesMax;
  private final TreeMap segments = new TreeMap();
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private OutputStream spilled;
  private long written;

  ResultSpool(File file, long bytesMax) {
    this.file = file;
    this.bytesMax = bytesMax;
  }

  /** False as soon as the result is larger than its limit; nothing more is kept then. */
  synchronized boolean add(int partition, byte[][] batches) throws IOException {
    long size = 0;
    for (int i = 0; i < batches.length; i++) size += batches[i].length;
    if (written + size > bytesMax) {
      written = Long.MAX_VALUE - Integer.MAX_VALUE;
      return false;
    }
    if (size == 0) return true;
    segments.put(Integer.valueOf(partition), new long[] {written, size});
    OutputStream out = target(size);
    for (int i = 0; i < batches.length; i++) out.write(batches[i]);
    written += size;
    return true;
  }

  private OutputStream target(long more) throws IOException {
    if (spilled == null && written + more > MEMORY_MAX) {
      spilled = new FileOutputStream(file);
      memory.writeTo(spilled);
      memory.reset();
    }
    return spilled == null ? memory : spilled;
  }

  synchronized boolean exceeded() {
    return written > bytesMax;
  }

  /** Offset and length of each partition's bytes, in the order of the partitions. */
  synchronized Iterable segments() {
    return segments.values();
  }

  /** The file that holds the bytes, or null while they fit in memory. */
  synchronized String path() {
    return spilled == null ? null : file.getPath();
  }

  synchronized byte[] bytes() {
    return memory.toByteArray();
  }

  synchronized void finish() throws IOException {
    if (spilled != null) spilled.close();
  }

  synchronized void discard() throws IOException {
    finish();
    if (spilled != null) file.delete();
  }
}
