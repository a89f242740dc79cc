package deltagateway;

import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * A connector's file system with the credentials of a lease ({@link Leases}).
 *
 * Hadoop keeps file systems by scheme, host and user, and would give one table's to another: its cache is off for these,
 * and those of the connector are kept here, by what they were made with. One is closed when its credentials have ended,
 * or when nobody has opened a file by it for long. A file that is open goes on with those it was opened with.
 */
public final class LentFileSystem extends FilterFileSystem {
  private static final long IDLE_MS = 6L * 3600 * 1000;
  private static final long AFTER_END_MS = 600L * 1000;

  /** What it was made with -> {@link Kept}. */
  private static final Map KEPT = new HashMap();

  /** `name` is the URI of a file or folder. */
  public void initialize(URI name, Configuration conf) throws IOException {
    String place = name.getScheme() + "://" + name.getAuthority();
    Leases.Lent lent = Leases.of(conf, place);
    setConf(conf);
    statistics = getStatistics(name.getScheme(), getClass());
    fs = connected(place, lent, conf);
  }

  private static FileSystem connected(String place, Leases.Lent lent, Configuration conf) throws IOException {
    synchronized (KEPT) {
      String key = place + "\n" + lent.connector + "\n" + lent.settings;
      long now = System.currentTimeMillis();
      Kept found = (Kept) KEPT.get(key);
      if (found == null) {
        closeOld(now);
        URI uri = new Path(place).toUri();
        Configuration own = lent.applied(conf, uri.getScheme());
        Class connector;
        try {
          connector = Class.forName(lent.connector, true, LentFileSystem.class.getClassLoader());
        } catch (ClassNotFoundException missing) {
          throw new IOException("no class " + lent.connector, missing);
        }
        FileSystem opened = (FileSystem) ReflectionUtils.newInstance(connector, own);
        opened.initialize(uri, own);
        found = new Kept(opened, lent.endsMs);
        KEPT.put(key, found);
      }
      found.usedMs = now;
      return found.opened;
    }
  }

  private static void closeOld(long now) throws IOException {
    for (Iterator all = KEPT.values().iterator(); all.hasNext(); ) {
      Kept each = (Kept) all.next();
      boolean isOver = each.endsMs < now - AFTER_END_MS || each.usedMs < now - IDLE_MS;
      if (!isOver) continue;
      all.remove();
      each.opened.close();
    }
  }

  /** Others use what is behind it. */
  public void close() {}

  private static final class Kept {
    final FileSystem opened;
    final long endsMs;
    long usedMs;

    Kept(FileSystem opened, long endsMs) {
      this.opened = opened;
      this.endsMs = endsMs;
    }
  }
}
