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
 * A connector's file system with vended credentials ({@link VendedCredentials}).
 *
 * <p>Hadoop caches file systems by scheme, host and user, and would use one table's credentials for
 * another. Its cache is off for these file systems; those of the connectors are cached here ({@link
 * FileSystemCache}). An open file continues with the credentials that it was opened with.
 */
public final class VendedCredentialsFileSystem extends FilterFileSystem {
  /** Guarded by itself. */
  private static final FileSystemCache CACHE = new FileSystemCache(200);

  /** `name` is the URI of a file or folder. */
  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    String location = name.getScheme() + "://" + name.getAuthority();
    setConf(conf);
    fs = connected(location, VendedCredentials.of(conf, location), conf);
    super.initialize(name, conf);
  }

  private static FileSystem connected(
      String location, VendedCredentials.Credentials vended, Configuration conf)
      throws IOException {
    String key = location + "\n" + vended.connector() + "\n" + vended.settings();
    synchronized (CACHE) {
      long now = System.currentTimeMillis();
      FileSystem found = CACHE.find(key, vended.endsMs(), now);
      if (found != null) return found;
      List<FileSystem> ended = CACHE.takeOver(now);
      try {
        found = opened(location, vended, conf);
        CACHE.keep(key, found, vended.endsMs(), now);
        return found;
      } finally {
        FileSystemCache.close(ended);
      }
    }
  }

  private static FileSystem opened(
      String location, VendedCredentials.Credentials vended, Configuration conf)
      throws IOException {
    URI uri = new Path(location).toUri();
    Configuration own = vended.applied(conf, uri.getScheme());
    try {
      Class<? extends FileSystem> connector =
          Class.forName(
                  vended.connector(), true, VendedCredentialsFileSystem.class.getClassLoader())
              .asSubclass(FileSystem.class);
      FileSystem opened = ReflectionUtils.newInstance(connector, own);
      opened.initialize(uri, own);
      return opened;
    } catch (ClassNotFoundException missing) {
      throw new IOException("no class " + vended.connector(), missing);
    }
  }

  /** Does nothing: other users share the connector's file system. */
  @Override
  public void close() {}
}
