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
 * Hadoop's connector for S3, which reads the data files of a scan by few requests.
 *
 * <p>A scan knows the length of each file from its table's metadata ({@link KnownLengthReader}), so
 * the store is not asked for it: the status of a file is told once its end was read, which has the
 * footer ({@link FileTail}). Where the end is not that of a Parquet file, or cannot be read, the
 * length is another one, or the file is not there: then the store is asked as ever, and says what
 * is wrong. All other files are read as the connector reads them.
 */
public final class VectoredFileSystem extends FilterFileSystem {
  private static final String CONNECTOR = "org.apache.hadoop.fs.s3a.S3AFileSystem";
  private static final String INNER = "deltagateway.connector.";
  private static final String CACHE_OFF = "deltagateway.connector.uncached.";

  /**
   * Has files of the store of `place` read so by what is opened with `conf`; false for other
   * stores.
   */
  public static boolean use(Configuration conf, Path place) {
    String scheme = place.toUri().getScheme();
    if (scheme == null || scheme.equals("file")) return false;
    String inner;
    try {
      inner = FileSystem.getFileSystemClass(scheme, conf).getName();
    } catch (IOException none) {
      return false;
    } catch (RuntimeException none) {
      return false;
    }
    boolean isLent = inner.equals(VendedCredentialsFileSystem.class.getName());
    if (!CONNECTOR.equals(isLent ? VendedCredentials.connector(conf) : inner)) return false;
    conf.set(INNER + scheme, inner);
    conf.setBoolean(
        CACHE_OFF + scheme, conf.getBoolean("fs." + scheme + ".impl.disable.cache", false));
    conf.set("fs." + scheme + ".impl", VectoredFileSystem.class.getName());
    conf.setBoolean("fs." + scheme + ".impl.disable.cache", true);
    conf.setClassLoader(VectoredFileSystem.class.getClassLoader());
    return true;
  }

  /** `name` is the URI of a file or folder. */
  public void initialize(URI name, Configuration conf) throws IOException {
    String scheme = name.getScheme();
    setConf(conf);
    statistics = getStatistics(scheme, getClass());
    Configuration own = new Configuration(conf);
    own.set("fs." + scheme + ".impl", conf.get(INNER + scheme));
    own.setBoolean(
        "fs." + scheme + ".impl.disable.cache", conf.getBoolean(CACHE_OFF + scheme, false));
    fs = FileSystem.get(name, own);
  }

  public FileStatus getFileStatus(Path file) throws IOException {
    FileTail end = FileTail.of(file);
    FileStatus found = end == null ? null : end.status(fs);
    return found == null ? super.getFileStatus(file) : found;
  }

  public FSDataInputStream open(Path file, int bufferSize) throws IOException {
    FSDataInputStream found = opened(file);
    return found == null ? super.open(file, bufferSize) : found;
  }

  public FutureDataInputStreamBuilder openFile(Path file) throws IOException {
    return FileTail.of(file) == null
        ? super.openFile(file)
        : createDataInputStreamBuilder(this, file);
  }

  protected CompletableFuture<FSDataInputStream> openFileWithOptions(
      Path file, OpenFileParameters options) throws IOException {
    FSDataInputStream found = opened(file);
    return found == null
        ? super.openFileWithOptions(file, options)
        : CompletableFuture.completedFuture(found);
  }

  private FSDataInputStream opened(Path file) throws IOException {
    FileTail end = FileTail.of(file);
    return end == null || end.status(fs) == null ? null : end.open(fs);
  }

  /** Others use what is behind it. */
  public void close() {}
}
