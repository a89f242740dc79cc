package deltagateway.cache;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IOUtils;

/**
 * File systems by what they were made with, until their credentials have ended or nobody has asked
 * for them for long.
 *
 * <p>One that is closed takes the files with it that are open by it, hence nothing is closed that
 * somebody may still read from: neither at the very end of its credentials, nor at once where there
 * are more than `many`. Of these the ones that are asked for no more go sooner. Not safe between
 * threads. Times are in milliseconds since the epoch.
 */
public final class FileSystemCache {
  private static final long IDLE_MS = 6L * 3600 * 1000;
  private static final long IDLE_OF_MANY_MS = 600L * 1000;
  private static final long AFTER_END_MS = 600L * 1000;

  private final Map<String, Kept> kept = new HashMap<>();
  private final int many;

  public FileSystemCache(int many) {
    this.many = many;
  }

  /**
   * null: none is kept. What is asked for by later credentials of the same kind lasts as long as
   * these.
   */
  public FileSystem find(String key, long endsMs, long nowMs) {
    Kept found = kept.get(key);
    if (found == null) return null;
    found.endsMs = Math.max(found.endsMs, endsMs);
    found.usedMs = nowMs;
    return found.opened;
  }

  public void keep(String key, FileSystem opened, long endsMs, long nowMs) {
    Kept made = new Kept();
    made.opened = opened;
    made.endsMs = endsMs;
    made.usedMs = nowMs;
    kept.put(key, made);
  }

  /** Those that are over, which are kept no more. */
  public List<FileSystem> takeOver(long nowMs) {
    List<FileSystem> taken = new ArrayList<>();
    long idleMs = kept.size() < many ? IDLE_MS : IDLE_OF_MANY_MS;
    for (Iterator<Kept> all = kept.values().iterator(); all.hasNext(); ) {
      Kept each = all.next();
      boolean isOver = each.endsMs < nowMs - AFTER_END_MS || each.usedMs < nowMs - idleMs;
      if (!isOver) continue;
      all.remove();
      taken.add(each.opened);
    }
    return taken;
  }

  /** What fails is of another table than the one that is asked for, and is nobody's any more. */
  public static void close(List<FileSystem> taken) {
    for (Iterator<FileSystem> each = taken.iterator(); each.hasNext(); ) {
      IOUtils.cleanupWithLogger(null, new java.io.Closeable[] {each.next()});
    }
  }

  private static final class Kept {
    FileSystem opened;
    long endsMs;
    long usedMs;
  }
}
