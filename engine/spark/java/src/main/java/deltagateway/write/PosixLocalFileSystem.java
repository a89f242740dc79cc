package deltagateway.write;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local file system that sets permissions by a system call. Without its native library, Hadoop
 * starts a process (`chmod`) for each new file and directory, which takes longer than the file of a
 * few rows.
 */
public final class PosixLocalFileSystem extends RawLocalFileSystem {
  /** The bits of a mode, from the lowest. */
  private static final PosixFilePermission[] BITS = {
    PosixFilePermission.OTHERS_EXECUTE,
    PosixFilePermission.OTHERS_WRITE,
    PosixFilePermission.OTHERS_READ,
    PosixFilePermission.GROUP_EXECUTE,
    PosixFilePermission.GROUP_WRITE,
    PosixFilePermission.GROUP_READ,
    PosixFilePermission.OWNER_EXECUTE,
    PosixFilePermission.OWNER_WRITE,
    PosixFilePermission.OWNER_READ,
  };

  /** Its class has none, and Spark's client of YARN asks for it. */
  @Override
  public String getScheme() {
    return getUri().getScheme();
  }

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    if (permission.getStickyBit()) { // Java has no such permission
      super.setPermission(path, permission);
      return;
    }
    Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
    for (int bit = 0; bit < BITS.length; bit++)
      if ((permission.toShort() >> bit & 1) == 1) permissions.add(BITS[bit]);
    Files.setPosixFilePermissions(pathToFile(path).toPath(), permissions);
  }
}
