package deltagateway.scan.credentials;

import deltagateway.cache.FileSystemCache;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * A connector's file system with the credentials of a lease ({@link VendedCredentials}).
 *
 * <p>Hadoop keeps file systems by scheme, host and user, and would give one table's to another: its
 * cache is off for these, and those of the connector are kept here ({@link FileSystemCache}). A
 * file that is open goes on with the credentials that it was opened with.
 */
public final class VendedCredentialsFileSystem extends FilterFileSystem {
  /** Guarded by itself. */
  private static final FileSystemCache KEPT = new FileSystemCache(200);

  /** `name` is the URI of a file or folder. */
  public void initialize(URI name, Configuration conf) throws IOException {
    String place = name.getScheme() + "://" + name.getAuthority();
    VendedCredentials.Lent lent = VendedCredentials.of(conf, place);
    setConf(conf);
    statistics = getStatistics(name.getScheme(), getClass());
    fs = connected(place, lent, conf);
  }

  private static FileSystem connected(String place, VendedCredentials.Lent lent, Configuration conf)
      throws IOException {
    String key = place + "\n" + lent.connector + "\n" + lent.settings;
    synchronized (KEPT) {
      long now = System.currentTimeMillis();
      FileSystem found = KEPT.find(key, lent.endsMs, now);
      if (found != null) return found;
      List<FileSystem> over = KEPT.takeOver(now);
      try {
        found = opened(place, lent, conf);
        KEPT.keep(key, found, lent.endsMs, now);
        return found;
      } finally {
        FileSystemCache.close(over);
      }
    }
  }

  private static FileSystem opened(String place, VendedCredentials.Lent lent, Configuration conf)
      throws IOException {
    URI uri = new Path(place).toUri();
    Configuration own = lent.applied(conf, uri.getScheme());
    Class<?> connector;
    try {
      connector =
          Class.forName(lent.connector, true, VendedCredentialsFileSystem.class.getClassLoader());
    } catch (ClassNotFoundException missing) {
      throw new IOException("no class " + lent.connector, missing);
    }
    FileSystem opened = (FileSystem) ReflectionUtils.newInstance(connector, own);
    opened.initialize(uri, own);
    return opened;
  }

  /** Others use what is behind it. */
  public void close() {}
}
