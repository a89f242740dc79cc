package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Permissions of local files, set without a process. */
class PosixLocalFileSystemTest {
  @TempDir Path folder;
  private final PosixLocalFileSystem files = new PosixLocalFileSystem();

  @BeforeEach
  void initialize() throws IOException {
    files.initialize(URI.create("file:///"), new Configuration(false));
  }

  private static org.apache.hadoop.fs.Path hadoop(Path path) {
    return new org.apache.hadoop.fs.Path(path.toUri());
  }

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }

  @ParameterizedTest
  @CsvSource({"640, rw-r-----", "777, rwxrwxrwx", "400, r--------", "751, rwxr-x--x"})
  void permissionIsThatOfTheMode(String octal, String expected) throws IOException {
    Path file = Files.createFile(folder.resolve("a b%"));
    files.setPermission(hadoop(file), new FsPermission(octal));
    assertEquals(expected, mode(file));
  }

  @Test
  void stickyBitIsSet() throws IOException {
    files.setPermission(hadoop(folder), new FsPermission("1755"));
    assertEquals(01755, (int) Files.getAttribute(folder, "unix:mode") & 07777);
  }

  @Test
  void newFilesAndFoldersHaveTheirPermission() throws IOException {
    Path file = folder.resolve("p=1/file");
    files.create(hadoop(file), new FsPermission("640"), true, 1, (short) 1, 1, null).close();
    assertEquals("rw-r-----", mode(file));
    files.mkdirs(hadoop(folder.resolve("private")), new FsPermission("700"));
    assertEquals("rwx------", mode(folder.resolve("private")));
  }

  @Test
  void missingFileIsAnError() {
    Path missing = folder.resolve("missing");
    assertThrows(
        NoSuchFileException.class,
        () -> files.setPermission(hadoop(missing), new FsPermission("640")));
  }
}
