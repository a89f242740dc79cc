package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.protocol.RejectionException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths of a log that are resolved, and those that lead out of the allowed folders. */
class TableRootTest {
  @TempDir Path folder;

  private static TableRoot root(String root, String... allowed) {
    return new TableRoot(root, allowed, new String[0], true);
  }

  private static void assertRejected(TableRoot root, String path) {
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> root.resolve(path), path);
    assertEquals("log path", rejection.kind());
  }

  @ParameterizedTest
  @CsvSource({
    "a.parquet, file:/lake/t/a.parquet",
    "p=1/a.parquet, file:/lake/t/p=1/a.parquet",
    "a%2Fb #?.parquet, file:/lake/t/a%2Fb #?.parquet",
    "%2e%2e/a, file:/lake/t/%2e%2e/a",
    "a..b/c.., file:/lake/t/a..b/c..",
    "/lake/t/a, file:/lake/t/a",
    "///lake/t/a, file:/lake/t/a",
    "file:/lake/t/a, file:/lake/t/a",
    "FILE:/lake/t/a, FILE:/lake/t/a",
    "/shared/x/a, file:/shared/x/a",
    "file:///shared/x/a, file:/shared/x/a",
  })
  void allowedPathIsResolved(String text, String expected) {
    assertEquals(expected, root("/lake/t/", "/shared/x").resolve(text).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "..",
        "../other/a",
        "p/../../other/a",
        "p/..",
        "a\0b",
        "/lake/other/a",
        "/lake/t",
        "/lake/t2/a",
        "/lake/t/../other/a",
        "/etc/passwd",
        "file:/etc/passwd",
        "file:///etc/passwd",
        "file:/lake/t/../../etc/passwd",
        "s3a://bucket/a",
        "hdfs://host/lake/t/a",
        "//etc/passwd",
        "p\n/../../../etc/passwd",
      })
  void pathOutsideOfTheRootIsRejected(String text) {
    assertRejected(root("/lake/t", "/shared/x"), text);
  }

  @ParameterizedTest
  @CsvSource({
    "s3a://bucket/t, s3://bucket/t/a, true",
    "s3://bucket/t, s3n://bucket/t/a, true",
    "s3://bucket/t, S3A://bucket/t/a, true",
    "gcs://bucket/t, gs://bucket/t/a, true",
    "abfss://c@host/t, abfs://c@host/t/a, true",
    "s3://bucket/t, /t/a, true",
    "s3://bucket/t, /other/a, false",
    "s3://bucket/t, s3://other/t/a, false",
    "s3://bucket/t, gs://bucket/t/a, false",
    "s3://bucket/t, file:/t/a, false",
    "s3://bucket/t, s3://bucket/t/../u/a, false",
    "abfss://c@host/t, abfss://d@host/t/a, false",
  })
  void schemesOfOneStoreAreTheSame(String location, String text, boolean isAllowed) {
    if (isAllowed) assertDoesNotThrow(() -> root(location).resolve(text));
    else assertRejected(root(location), text);
  }

  @Test
  void excludedFolderIsRejectedBelowTheRoot() {
    TableRoot root =
        new TableRoot("/lake/t", new String[0], new String[] {"/lake/t/_private/"}, true);
    assertEquals("file:/lake/t/public/a", root.resolve("public/a").toString());
    assertEquals("file:/lake/t/_private2/a", root.resolve("_private2/a").toString());
    assertRejected(root, "_private/a");
    assertRejected(root, "./_private/a");
    assertRejected(root, "/lake/t/_private/a");
    assertRejected(root, "file:///lake/t/_private/a");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/lake/t/a", "file:/lake/t/a", "../a"})
  void pathBelowTheRootMustBeRelative(String text) {
    assertEquals("file:/lake/t/a", root("/lake/t").resolveBelow("a").toString());
    assertThrows(RejectionException.class, () -> root("/lake/t").resolveBelow(text));
  }

  private org.apache.hadoop.fs.Path file(Path path) {
    return new org.apache.hadoop.fs.Path(path.toUri());
  }

  @Test
  void linksMayLeadWithinTheTableOnly() throws Exception {
    Path table = Files.createDirectory(folder.resolve("t"));
    Path other = Files.createDirectory(folder.resolve("other"));
    Path own = Files.writeString(table.resolve("own"), "own");
    Path foreign = Files.writeString(other.resolve("foreign"), "foreign");
    Files.createSymbolicLink(table.resolve("within"), own);
    Files.createSymbolicLink(table.resolve("out"), foreign);
    Files.createSymbolicLink(table.resolve("folder"), other);
    TableRoot root = root(table.toString());
    root.ensureReal(file(own));
    root.ensureReal(file(table.resolve("within")));
    root.ensureReal(file(table.resolve("missing")));
    root.ensureReal(new org.apache.hadoop.fs.Path("s3://bucket/elsewhere"));
    assertThrows(RejectionException.class, () -> root.ensureReal(file(table.resolve("out"))));
    assertThrows(
        RejectionException.class, () -> root.ensureReal(file(table.resolve("folder/foreign"))));
    root(table.toString(), other.toString()).ensureReal(file(table.resolve("out")));
  }

  @Test
  void tableFolderMayItselfBeALink() throws Exception {
    Path table = Files.createDirectory(folder.resolve("t"));
    Files.writeString(table.resolve("own"), "own");
    Path link = Files.createSymbolicLink(folder.resolve("link"), table);
    root(link.toString()).ensureReal(file(link.resolve("own")));
  }

  @Test
  void linkIntoAnExcludedFolderIsRejected() throws Exception {
    Path hidden = Files.createDirectories(folder.resolve("t/_private"));
    Path secret = Files.writeString(hidden.resolve("secret"), "secret");
    Path link = Files.createSymbolicLink(folder.resolve("t/link"), secret);
    String table = folder.resolve("t").toString();
    new TableRoot(table, new String[0], new String[0], true).ensureReal(file(link));
    TableRoot root = new TableRoot(table, new String[0], new String[] {hidden.toString()}, true);
    assertThrows(RejectionException.class, () -> root.ensureReal(file(link)));
  }

  @Test
  void hardLinksMayBeWithinTheTableOnly() throws Exception {
    Path table = Files.createDirectories(folder.resolve("t/p"));
    Path own = Files.writeString(table.resolve("own"), "own");
    Files.createLink(table.resolve("second"), own);
    String location = folder.resolve("t").toString();
    TableRoot strict = new TableRoot(location, new String[0], new String[0], false);
    strict.ensureReal(file(own));
    strict.ensureReal(file(table.resolve("second")));
    Path foreign = Files.writeString(folder.resolve("foreign"), "foreign");
    Path link = Files.createLink(table.resolve("link"), foreign);
    assertThrows(RejectionException.class, () -> strict.ensureReal(file(link)));
    root(location).ensureReal(file(link));
  }

  @Test
  void filesAreNotWrittenThroughALink() throws Exception {
    Path table = Files.createDirectory(folder.resolve("t"));
    Files.createSymbolicLink(table.resolve("p=1"), Files.createDirectory(folder.resolve("other")));
    TableRoot root = root(table.toString());
    root.ensureOwn(file(table.resolve("a")));
    root.ensureOwn(file(table.resolve("p=2/a")));
    root.ensureOwn(new org.apache.hadoop.fs.Path("s3://bucket/elsewhere"));
    assertThrows(RejectionException.class, () -> root.ensureOwn(file(table.resolve("p=1/a"))));
    assertThrows(RejectionException.class, () -> root.ensureOwn(file(table.resolve("p=1/q=2/a"))));
  }

  @Test
  void copyOfATaskHasTheSameLimits() throws Exception {
    Path table = Files.createDirectory(folder.resolve("t"));
    Path foreign = Files.writeString(folder.resolve("foreign"), "foreign");
    Files.createSymbolicLink(table.resolve("out"), foreign);
    TableRoot root = root(table.toString());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    new ObjectOutputStream(bytes).writeObject(root);
    TableRoot copy =
        (TableRoot)
            new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    assertEquals(root.resolve("a"), copy.resolve("a"));
    assertRejected(copy, "../foreign");
    assertThrows(RejectionException.class, () -> copy.ensureReal(file(table.resolve("out"))));
  }
}
