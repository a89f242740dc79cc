package deltagateway.cache;

import java.util.LinkedHashMap;
import java.util.Map;

/** A map of limited size that removes the least recently used entry. */
final class RecentlyUsed<K, V> extends LinkedHashMap<K, V> {
  private static final long serialVersionUID = 1;

  private final int sizeMax;

  RecentlyUsed(int sizeMax) {
    super(16, 0.75f, true);
    this.sizeMax = sizeMax;
  }

  @Override
  protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
    return size() > sizeMax;
  }
}
