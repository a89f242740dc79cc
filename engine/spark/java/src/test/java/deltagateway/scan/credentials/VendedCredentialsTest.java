package deltagateway.scan.credentials;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.CallbackServer;
import deltagateway.TestFileSystem;
import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import java.io.IOException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Credentials that Python vends to the driver's file systems. */
@Tag("spark")
class VendedCredentialsTest {
  private static final SparkContext SPARK = TestSpark.SPARK.sparkContext();

  @TempDir java.nio.file.Path folder;
  private CallbackServer server;
  private volatile String secret;
  private volatile String answer;

  @BeforeEach
  void start() throws IOException {
    secret = "s" + System.nanoTime();
    answer = null;
    server = new CallbackServer(request -> answer == null ? vended() : answer.getBytes());
    VendedCredentials.answeredBy(server.callbacks());
  }

  private byte[] vended() {
    return CallbackServer.value(
        "{\"connector\": \""
            + TestFileSystem.class.getName()
            + "\", \"settings\": {\"test.secret\": \""
            + secret
            + "\"}, \"ends_ms\": 4102444800000}");
  }

  @AfterEach
  void stop() throws IOException {
    VendedCredentials.answeredBy(null);
    server.close();
  }

  private Path file(String text) throws IOException {
    return TestFileSystem.path(Files.writeString(folder.resolve("file"), text));
  }

  @Test
  void fileIsOpenedWithTheVendedSettings() throws IOException {
    Path file = file("content");
    Configuration conf = new Configuration(false);
    conf.set("fs.test.security.credential.provider.path", "jceks:/etc/secrets");
    Configuration leased = VendedCredentials.with("lease-1", conf, file, SPARK);
    FileSystem store = file.getFileSystem(leased);
    try (FSDataInputStream in = store.open(file)) {
      assertEquals("content", new String(in.readAllBytes()));
    }
    assertEquals(7, store.getFileStatus(file).getLen());
    assertTrue(TestFileSystem.REQUESTS.contains("initialize " + secret));
    assertEquals("lease-1", server.requests.get(0).get("lease").textValue());
    assertEquals(file.toString(), server.requests.get(0).get("place").textValue());
    assertEquals("test://store", server.requests.get(1).get("place").textValue());
    Configuration own = ((VendedCredentialsFileSystem) store).getRawFileSystem().getConf();
    assertEquals(secret, own.get("test.secret"));
    assertNull(own.get("fs.test.security.credential.provider.path"));
    assertNull(own.get("deltagateway.lease.id"));
  }

  @Test
  void settingsWithoutALeaseAreUnchanged() throws IOException {
    Configuration conf = new Configuration(false);
    assertSame(conf, VendedCredentials.with(null, conf, file(""), SPARK));
    VendedCredentials.lend(conf, null, file(""), SPARK);
    assertFalse(conf.iterator().hasNext());
    assertNull(VendedCredentials.connector(conf));
  }

  @Test
  void secretsAreNotInSettingsOfTheDriver() throws IOException {
    Configuration conf = new Configuration(false);
    VendedCredentials.lend(conf, "lease", file(""), SPARK);
    conf.forEach(entry -> assertFalse(entry.getValue().contains(secret), entry.getKey()));
    assertEquals(TestFileSystem.class.getName(), VendedCredentials.connector(conf));
    assertTrue(conf.getBoolean("fs.test.impl.disable.cache", false));
  }

  @Test
  void allSchemesOfS3UseTheLease() {
    Configuration conf = new Configuration(false);
    VendedCredentials.lend(conf, "lease", new Path("s3://bucket/t"), SPARK);
    for (String scheme : new String[] {"s3", "s3a", "s3n"})
      assertEquals(VendedCredentialsFileSystem.class.getName(), conf.get("fs." + scheme + ".impl"));
    assertNull(conf.get("fs.gs.impl"));
  }

  @Test
  void sameCredentialsShareAFileSystemAndOthersDoNot() throws IOException {
    Path file = file("");
    FileSystem first = raw(file);
    assertSame(first, raw(file));
    secret = "other" + System.nanoTime();
    assertNotSame(first, raw(file));
  }

  private static FileSystem raw(Path file) throws IOException {
    Configuration conf = VendedCredentials.with("l", new Configuration(false), file, SPARK);
    VendedCredentialsFileSystem store = (VendedCredentialsFileSystem) file.getFileSystem(conf);
    store.close(); // closes no connector, which others use
    return store.getRawFileSystem();
  }

  @Test
  void newerCredentialsAreUsedWhileAStatementRuns() throws IOException {
    Path file = file("");
    Configuration conf = VendedCredentials.with("l", new Configuration(false), file, SPARK);
    file.getFileSystem(conf);
    secret = "newer" + System.nanoTime();
    file.getFileSystem(conf);
    assertTrue(TestFileSystem.REQUESTS.contains("initialize " + secret));
  }

  @Test
  void missingConnectorIsRejected() {
    answer = "null\n{\"connector\": \"no.such.Class\", \"settings\": {}, \"ends_ms\": null}\n";
    RejectionException rejection =
        assertThrows(
            RejectionException.class,
            () -> VendedCredentials.lend(new Configuration(false), "l", file(""), SPARK));
    assertEquals("connector", rejection.kind());
    assertTrue(rejection.subject().endsWith("\nno.such.Class"));
  }

  @Test
  void refusedLeaseFailsWithItsReason() throws IOException {
    Path file = file("");
    Configuration conf = VendedCredentials.with("l", new Configuration(false), file, SPARK);
    answer = "the lease has ended\n";
    IOException failure = assertThrows(IOException.class, () -> file.getFileSystem(conf));
    assertTrue(failure.getMessage().contains("the lease has ended"), failure.getMessage());
    assertThrows(
        IllegalStateException.class,
        () -> VendedCredentials.lend(new Configuration(false), "l", file, SPARK));
  }

  @Test
  void executorReadsCredentialsFromItsSettings() throws IOException {
    VendedCredentials.answeredBy(null);
    Configuration conf = new Configuration(false);
    conf.set("deltagateway.lease.connector", TestFileSystem.class.getName());
    conf.set("deltagateway.lease.setting.test.secret", secret);
    conf.setLong("deltagateway.lease.ends", 5);
    VendedCredentials.Credentials vended = VendedCredentials.of(conf, "test://store");
    assertEquals(5, vended.endsMs());
    assertEquals(secret, vended.settings().get("test.secret"));
    assertFalse(vended.toString().contains(secret));
    assertEquals(secret, vended.applied(conf, "test").get("test.secret"));
  }
}
