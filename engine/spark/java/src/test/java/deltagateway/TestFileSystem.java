package deltagateway;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A store over local files whose requests are recorded and may fail. Its files have the URIs
 * `test://store/PATH`.
 */
public final class TestFileSystem extends FileSystem {
  public static final List<String> REQUESTS = Collections.synchronizedList(new ArrayList<>());

  /** The number of reads that fail from now on. */
  public static volatile int failures;

  private URI uri;

  public static org.apache.hadoop.fs.Path path(Path file) {
    return new org.apache.hadoop.fs.Path("test://store" + file);
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    setConf(conf);
    uri = URI.create(name.getScheme() + "://" + name.getAuthority());
    REQUESTS.add("initialize " + conf.get("test.secret"));
  }

  @Override
  public URI getUri() {
    return uri;
  }

  private static Path local(org.apache.hadoop.fs.Path path) {
    return Path.of(path.toUri().getPath());
  }

  @Override
  public FSDataInputStream open(org.apache.hadoop.fs.Path path, int bufferSize) throws IOException {
    REQUESTS.add("open");
    return new FSDataInputStream(new Input(local(path)));
  }

  @Override
  public FileStatus getFileStatus(org.apache.hadoop.fs.Path path) throws IOException {
    REQUESTS.add("status");
    Path file = local(path);
    if (!Files.exists(file)) throw new FileNotFoundException(path.toString());
    return new FileStatus(Files.size(file), Files.isDirectory(file), 1, 1 << 20, 0, path);
  }

  private static final class Input extends FSInputStream {
    private final RandomAccessFile file;

    Input(Path path) throws IOException {
      if (!Files.exists(path)) throw new FileNotFoundException(path.toString());
      new FileInputStream(path.toFile()).close();
      file = new RandomAccessFile(path.toFile(), "r");
    }

    @Override
    public void seek(long position) throws IOException {
      file.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return file.getFilePointer();
    }

    @Override
    public boolean seekToNewSource(long target) {
      return false;
    }

    @Override
    public int read() throws IOException {
      return file.read();
    }

    @Override
    public int read(long position, byte[] to, int offset, int length) throws IOException {
      REQUESTS.add("read " + position + "+" + length);
      if (failures > 0) {
        failures--;
        throw new IOException("store failed");
      }
      synchronized (file) {
        file.seek(position);
        return file.read(to, offset, length);
      }
    }

    @Override
    public void close() throws IOException {
      REQUESTS.add("close");
      file.close();
    }
  }

  @Override
  public FSDataOutputStream create(
      org.apache.hadoop.fs.Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FSDataOutputStream append(
      org.apache.hadoop.fs.Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean rename(org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean delete(org.apache.hadoop.fs.Path path, boolean recursive) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileStatus[] listStatus(org.apache.hadoop.fs.Path path) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void setWorkingDirectory(org.apache.hadoop.fs.Path path) {}

  @Override
  public org.apache.hadoop.fs.Path getWorkingDirectory() {
    return new org.apache.hadoop.fs.Path(uri + "/");
  }

  @Override
  public boolean mkdirs(org.apache.hadoop.fs.Path path, FsPermission permission) {
    throw new UnsupportedOperationException();
  }
}
