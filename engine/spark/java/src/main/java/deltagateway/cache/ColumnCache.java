package deltagateway.cache;

import java.lang.ref.SoftReference;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;

/**
 * Columns of data files as they were decoded, so that a dashboard's next question is not one of
 * decompression: pages, dictionaries and footers of a small file take longer than what is asked of
 * its rows.
 *
 * <p>A file of a table never changes. All the same, columns are kept with what the file system says
 * of their file, and are not the columns of one that it says something else of. They are kept when
 * they are asked for again, and take the place of others only if these were last asked for before
 * that: so a scan of more than there is room for leaves what is there where it is (as LRU-2, O'Neil
 * et al. 1993). Room is a part of the heap, which is given back where statements need it: Java
 * clears soft references before an allocation fails, and {@link MemoryGuard} asks for all before it
 * ends a statement.
 *
 * <p>One for a process, so an executor of a cluster has its own.
 */
public final class ColumnCache {
  /** How much of the heap; 0: nothing is kept. */
  private static final String PERCENT = "spark.gateway.columnCache.percent";

  /** Of the room, for one file: others are to fit in as well. */
  private static final int FILE_PART = 3;

  /** Of names of columns that were asked for, with how often and when. */
  private static final int ASKED_MAX = 2_000;

  /** How often all rows of columns are read until they are kept. */
  private static final int TIMES = 2;

  /** The same where only some pages are: to read all of them pays off later. */
  private static final int TIMES_OF_SOME = 4;

  private static volatile ColumnCache here;

  private final long room;
  private final Map<String, Kept> files = new LinkedHashMap<>(16, 0.75f, true);
  private final Map<String, Asked> asked =
      new LinkedHashMap(16, 0.75f, true) {
        protected boolean removeEldestEntry(Map.Entry eldest) {
          return size() > ASKED_MAX;
        }
      };
  private long bytes;
  private long clock;

  ColumnCache(long room) {
    this.room = room;
  }

  /** How much of their heaps the processes of `context` have for it. */
  public static int percent(SparkContext context) {
    return context.conf().getInt(PERCENT, 0);
  }

  /** Those of this process, which has so much for them. */
  static ColumnCache here(int percent) {
    synchronized (ColumnCache.class) {
      if (here == null) here = new ColumnCache(Runtime.getRuntime().maxMemory() / 100 * percent);
      return here;
    }
  }

  /** What they take in this process. */
  public static long bytesHere() {
    ColumnCache found = here;
    return found == null ? 0 : found.bytes();
  }

  /**
   * Gives back what they take in this process, for statements that need it; answers whether that
   * was anything.
   */
  public static boolean clearHere() {
    ColumnCache found = here;
    return found != null && found.clear();
  }

  /** What columns of one file may take. */
  long fileMax() {
    return room / FILE_PART;
  }

  synchronized long bytes() {
    for (Iterator<Kept> all = files.values().iterator(); all.hasNext(); ) {
      Kept kept = all.next();
      if (kept.get() != null) continue;
      bytes -= kept.bytes;
      all.remove();
    }
    return bytes;
  }

  /** The file's columns, if all of these `names` are kept of what is `state` now; null if not. */
  synchronized File get(String file, Object state, String[] names) {
    Kept kept = files.get(file);
    File found = kept == null ? null : (File) kept.get();
    if (kept != null && (found == null || !found.state.equals(state))) remove(file);
    if (found == null || !found.state.equals(state)) return null;
    if (!found.columns.keySet().containsAll(Arrays.asList(names))) return null;
    kept.last = ++clock;
    return found;
  }

  /**
   * Whether columns that are not kept should be by now. Answers yes to one task at a time, which
   * says {@link #tried}.
   */
  synchronized boolean wants(String columns, boolean ofSomePages) {
    if (room == 0) return false;
    Asked found = asked.get(columns);
    if (found == null) {
      found = new Asked();
      asked.put(columns, found);
    }
    long before = found.last;
    found.last = ++clock;
    if (++found.times < (ofSomePages ? TIMES_OF_SOME : TIMES) || found.isTried) return false;
    if (bytes > room - fileMax() && bytes() > room - fileMax() && eldest().last > before)
      return false;
    found.isTried = true;
    return true;
  }

  /** `fits`: they may be asked for again, because they were put away or are no more. */
  synchronized void tried(String columns, boolean fits) {
    Asked found = asked.get(columns);
    if (found != null) found.isTried = !fits;
  }

  private Kept eldest() {
    return files.values().iterator().next();
  }

  /**
   * Keeps columns of a file, beside others that are kept of it; answers these columns, kept or not.
   */
  synchronized File put(String file, File columns) {
    Kept known = files.get(file);
    if (known != null) {
      File others = (File) known.get();
      if (others != null) columns.addOthers(others, fileMax());
      remove(file);
    }
    if (columns.bytes > fileMax()) return columns;
    while (bytes + columns.bytes > room) remove(files.keySet().iterator().next());
    Kept kept = new Kept(columns);
    kept.last = ++clock;
    files.put(file, kept);
    bytes += columns.bytes;
    return columns;
  }

  private void remove(String file) {
    bytes -= files.remove(file).bytes;
  }

  /** Answers whether there was anything. */
  synchronized boolean clear() {
    boolean wasEmpty = files.isEmpty();
    files.clear();
    asked.clear();
    bytes = 0;
    return !wasEmpty;
  }

  private static final class Kept extends SoftReference {
    final long bytes;
    long last;

    Kept(File columns) {
      super(columns);
      this.bytes = columns.bytes;
    }
  }

  private static final class Asked {
    int times;
    long last;
    boolean isTried;
  }

  /**
   * Columns of one file, or of the part of it that a split is, in batches. It is never changed once
   * it is kept.
   */
  static final class File {
    private final Object state;

    /** Rows of each batch. */
    final int[] counts;

    /** Name -> {@link DecodedColumn}. */
    private final Map<String, DecodedColumn> columns;

    private long bytes;

    File(Object state, int[] counts, Map<String, DecodedColumn> columns) {
      this.state = state;
      this.counts = counts;
      this.columns = columns;
      for (DecodedColumn each : columns.values()) bytes += each.bytes();
    }

    OnHeapColumnVector[] column(String name) {
      return columns.get(name).batches();
    }

    /** Adds what `other` has besides, if it is of the same rows, up to so many bytes. */
    private void addOthers(File other, long max) {
      if (!state.equals(other.state) || !Arrays.equals(counts, other.counts)) return;
      for (Map.Entry<String, DecodedColumn> entry : other.columns.entrySet()) {
        long more = entry.getValue().bytes();
        if (columns.containsKey(entry.getKey()) || bytes + more > max) continue;
        columns.put(entry.getKey(), entry.getValue());
        bytes += more;
      }
    }
  }
}
