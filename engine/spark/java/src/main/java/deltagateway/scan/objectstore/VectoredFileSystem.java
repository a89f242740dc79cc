package deltagateway.scan.objectstore;

import deltagateway.scan.credentials.VendedCredentials;
import deltagateway.scan.credentials.VendedCredentialsFileSystem;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.impl.OpenFileParameters;

/**
 * Reads the data files of a scan from S3 with few requests, through Hadoop's connector.
 *
 * <p>A scan knows the length of each file from its table's metadata ({@link
 * deltagateway.scan.formats}), so the store is not asked for it: the status of a file is known once
 * its tail, which contains the footer, was read ({@link FileTail}). If the tail does not end a
 * Parquet file or cannot be read, the length is another one, or the file is missing. Then the
 * connector opens the file as usual and reports what is wrong. All other files are read by the
 * connector.
 */
public final class VectoredFileSystem extends FilterFileSystem {
  private static final String CONNECTOR = "org.apache.hadoop.fs.s3a.S3AFileSystem";
  private static final String INNER = "deltagateway.connector.";
  private static final String CACHE_OFF = "deltagateway.connector.uncached.";

  /**
   * Makes `conf` read files of the store of `path` through this class. Returns false for other
   * stores.
   */
  public static boolean use(Configuration conf, Path path) {
    String scheme = path.toUri().getScheme();
    if (scheme == null || scheme.equals("file")) return false;
    String inner;
    try {
      inner = FileSystem.getFileSystemClass(scheme, conf).getName();
    } catch (IOException | RuntimeException unknown) {
      return false;
    }
    boolean isVended = inner.equals(VendedCredentialsFileSystem.class.getName());
    if (!CONNECTOR.equals(isVended ? VendedCredentials.connector(conf) : inner)) return false;
    conf.set(INNER + scheme, inner);
    conf.setBoolean(
        CACHE_OFF + scheme, conf.getBoolean("fs." + scheme + ".impl.disable.cache", false));
    conf.set("fs." + scheme + ".impl", VectoredFileSystem.class.getName());
    conf.setBoolean("fs." + scheme + ".impl.disable.cache", true);
    conf.setClassLoader(VectoredFileSystem.class.getClassLoader());
    return true;
  }

  /** `name` is the URI of a file or folder. */
  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    String scheme = name.getScheme();
    setConf(conf);
    Configuration own = new Configuration(conf);
    own.set("fs." + scheme + ".impl", conf.get(INNER + scheme));
    own.setBoolean(
        "fs." + scheme + ".impl.disable.cache", conf.getBoolean(CACHE_OFF + scheme, false));
    fs = FileSystem.get(name, own);
    super.initialize(name, conf);
  }

  @Override
  public FileStatus getFileStatus(Path file) throws IOException {
    FileTail tail = FileTail.of(file);
    FileStatus found = tail == null ? null : tail.status(fs);
    return found == null ? super.getFileStatus(file) : found;
  }

  @Override
  public FSDataInputStream open(Path file, int bufferSize) throws IOException {
    FSDataInputStream found = opened(file);
    return found == null ? super.open(file, bufferSize) : found;
  }

  @Override
  public FutureDataInputStreamBuilder openFile(Path file) throws IOException {
    return FileTail.of(file) == null
        ? super.openFile(file)
        : createDataInputStreamBuilder(this, file);
  }

  @Override
  protected CompletableFuture<FSDataInputStream> openFileWithOptions(
      Path file, OpenFileParameters options) throws IOException {
    FSDataInputStream found = opened(file);
    return found == null
        ? super.openFileWithOptions(file, options)
        : CompletableFuture.completedFuture(found);
  }

  private FSDataInputStream opened(Path file) throws IOException {
    FileTail tail = FileTail.of(file);
    return tail == null || tail.status(fs) == null ? null : tail.open(fs);
  }

  /** Does nothing: other users share the connector's file system. */
  @Override
  public void close() {}
}
