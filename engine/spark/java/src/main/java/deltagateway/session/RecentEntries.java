package deltagateway.session;

import java.util.LinkedHashMap;
import java.util.Map;

/** Map of the entries that were added last. */
final class RecentEntries<V> extends LinkedHashMap<String, V> {
  private static final long serialVersionUID = 1;

  private final int sizeMax;

  RecentEntries(int sizeMax) {
    this.sizeMax = sizeMax;
  }

  @Override
  protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
    return size() > sizeMax;
  }
}
