package deltagateway.cache;

import java.lang.ref.SoftReference;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;

/**
 * Decoded columns of data files. For a small file, decompressing pages and decoding dictionaries
 * and footers takes longer than evaluating a query over its rows.
 *
 * <p>A data file never changes. Even so, columns are cached with the state of their file in the
 * file system and are dropped when it differs. They are cached when they are requested again, and
 * replace others only if these were last requested before that. So a scan that does not fit leaves
 * the cache as it is (as LRU-2, O'Neil et al. 1993). The cache has a share of the heap and returns
 * it when statements need it: Java clears soft references before an allocation fails, and {@link
 * deltagateway.memory.MemoryGuard} clears the cache before it ends a statement.
 *
 * <p>Each process has one cache, so an executor of a cluster has its own.
 */
public final class ColumnCache {
  /** The share of the heap; 0 turns the cache off. */
  private static final String PERCENT = "spark.gateway.columnCache.percent";

  /** One file may take this fraction of the cache. */
  private static final int FILE_FRACTION = 3;

  private static final int REQUESTS_MAX = 2_000;

  /** The request at which columns are cached. */
  private static final int CACHED_AT = 2;

  /** The same for filtered reads, which skip pages: decoding all pages pays off later. */
  private static final int FILTERED_CACHED_AT = 4;

  private static volatile ColumnCache here;

  private final long bytesMax;
  private final Map<String, Cached> files = new LinkedHashMap<>(16, 0.75f, true);

  /** Recent requests, for columns that are cached or not. */
  private final Map<String, Request> requests = new RecentlyUsed<>(REQUESTS_MAX);

  private long bytes;
  private long clock;

  ColumnCache(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Returns the share of the heap that the processes of `context` have for the cache. */
  public static int percent(SparkContext context) {
    return context.conf().getInt(PERCENT, 0);
  }

  /** Returns the cache of this process. The first call determines its share. */
  static ColumnCache here(int percent) {
    synchronized (ColumnCache.class) {
      if (here == null) here = new ColumnCache(Runtime.getRuntime().maxMemory() / 100 * percent);
      return here;
    }
  }

  /** Returns the bytes that the cache of this process takes. */
  public static long bytesHere() {
    ColumnCache found = here;
    return found == null ? 0 : found.bytes();
  }

  /** Clears the cache of this process; returns false if it was empty. */
  public static boolean clearHere() {
    ColumnCache found = here;
    return found != null && found.clear();
  }

  /** Returns how many bytes the columns of one file may take. */
  long fileBytesMax() {
    return bytesMax / FILE_FRACTION;
  }

  synchronized long bytes() {
    for (Iterator<Cached> all = files.values().iterator(); all.hasNext(); ) {
      Cached cached = all.next();
      if (cached.get() != null) continue;
      bytes -= cached.bytes;
      all.remove();
    }
    return bytes;
  }

  /** Returns a file in the given state that has all columns of these `names`, or null. */
  synchronized File get(String file, Object state, String[] names) {
    Cached cached = files.get(file);
    if (cached == null) return null;
    File found = cached.get();
    if (found == null || !found.state.equals(state)) {
      remove(file);
      return null;
    }
    if (!found.columns.keySet().containsAll(List.of(names))) return null;
    cached.lastUsed = ++clock;
    return found;
  }

  /**
   * Returns whether columns that are not cached should be decoded and cached now. Returns true to
   * one task at a time, which then calls {@link #end}.
   */
  synchronized boolean accepts(String columns, boolean isFiltered) {
    if (bytesMax == 0) return false;
    Request request = requests.computeIfAbsent(columns, key -> new Request());
    long before = request.last;
    request.last = ++clock;
    request.count++;
    if (request.count < (isFiltered ? FILTERED_CACHED_AT : CACHED_AT) || request.isEnded)
      return false;
    boolean isFull = bytes > bytesMax - fileBytesMax() && bytes() > bytesMax - fileBytesMax();
    if (isFull && files.values().iterator().next().lastUsed > before) return false;
    request.isEnded = true;
    return true;
  }

  /** Ends an attempt. With `mayRetry`, a later request may decode the columns again. */
  synchronized void end(String columns, boolean mayRetry) {
    Request request = requests.get(columns);
    if (request != null) request.isEnded = !mayRetry;
  }

  /** Caches columns of a file with its other cached columns, and returns all of them. */
  synchronized File put(String file, File columns) {
    Cached known = files.get(file);
    if (known != null) {
      File others = known.get();
      if (others != null) columns.addOthers(others, fileBytesMax());
      remove(file);
    }
    if (columns.bytes > fileBytesMax()) return columns;
    while (bytes + columns.bytes > bytesMax) remove(files.keySet().iterator().next());
    Cached cached = new Cached(columns);
    cached.lastUsed = ++clock;
    files.put(file, cached);
    bytes += columns.bytes;
    return columns;
  }

  private void remove(String file) {
    bytes -= files.remove(file).bytes;
  }

  /** Returns false if the cache was empty. */
  synchronized boolean clear() {
    boolean wasEmpty = files.isEmpty();
    files.clear();
    requests.clear();
    bytes = 0;
    return !wasEmpty;
  }

  private static final class Cached extends SoftReference<File> {
    final long bytes;
    long lastUsed;

    Cached(File columns) {
      super(columns);
      this.bytes = columns.bytes;
    }
  }

  private static final class Request {
    int count;
    long last;
    boolean isEnded;
  }

  /** Columns of one file or split, in batches. They do not change once they are cached. */
  static final class File {
    private final Object state;

    /** The number of rows of each batch. */
    final int[] counts;

    private final Map<String, DecodedColumn> columns;
    private long bytes;

    File(Object state, int[] counts, Map<String, DecodedColumn> columns) {
      this.state = state;
      this.counts = counts;
      this.columns = columns;
      this.bytes = columns.values().stream().mapToLong(DecodedColumn::bytes).sum();
    }

    OnHeapColumnVector[] column(String name) {
      return columns.get(name).batches();
    }

    /** Adds the other columns of the same rows, up to so many bytes. */
    private void addOthers(File other, long max) {
      if (!state.equals(other.state) || !Arrays.equals(counts, other.counts)) return;
      other.columns.forEach(
          (name, column) -> {
            if (columns.containsKey(name) || bytes + column.bytes() > max) return;
            columns.put(name, column);
            bytes += column.bytes();
          });
    }
  }
}
