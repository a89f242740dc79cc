package deltagateway.cache;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IOUtils;

/**
 * Open file systems by the settings they were created with, until their credentials have expired or
 * they are idle.
 *
 * <p>Closing a file system closes its open files. So none is closed that may still be in use: not
 * right after its credentials expire, nor immediately if there are more than `many`. With so many,
 * idle ones are closed sooner. Not thread-safe. Times are in milliseconds since the epoch.
 */
public final class FileSystemCache {
  private static final long IDLE_MS = 6L * 3600 * 1000;
  private static final long IDLE_OF_MANY_MS = 600L * 1000;
  private static final long AFTER_END_MS = 600L * 1000;

  private final Map<String, Entry> entries = new HashMap<>();
  private final int many;

  public FileSystemCache(int many) {
    this.many = many;
  }

  /**
   * Returns a cached file system or null. It lasts at least as long as the credentials that are
   * valid until `endsMs`.
   */
  public FileSystem find(String key, long endsMs, long nowMs) {
    Entry found = entries.get(key);
    if (found == null) return null;
    found.endsMs = Math.max(found.endsMs, endsMs);
    found.usedMs = nowMs;
    return found.fileSystem;
  }

  public void keep(String key, FileSystem fileSystem, long endsMs, long nowMs) {
    Entry entry = new Entry(fileSystem);
    entry.endsMs = endsMs;
    entry.usedMs = nowMs;
    entries.put(key, entry);
  }

  /** Removes and returns file systems that are expired or idle. */
  public List<FileSystem> takeOver(long nowMs) {
    List<FileSystem> removed = new ArrayList<>();
    long idleMs = entries.size() < many ? IDLE_MS : IDLE_OF_MANY_MS;
    for (Iterator<Entry> all = entries.values().iterator(); all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.endsMs >= nowMs - AFTER_END_MS && entry.usedMs >= nowMs - idleMs) continue;
      all.remove();
      removed.add(entry.fileSystem);
    }
    return removed;
  }

  /** Closes file systems. A failure does not concern the table that is being opened. */
  public static void close(List<FileSystem> fileSystems) {
    IOUtils.cleanupWithLogger(null, fileSystems.toArray(new FileSystem[0]));
  }

  private static final class Entry {
    final FileSystem fileSystem;
    long endsMs;
    long usedMs;

    Entry(FileSystem fileSystem) {
      this.fileSystem = fileSystem;
    }
  }
}
