package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.CallbackServer;
import deltagateway.TestScans;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import scala.collection.immutable.Seq;

/** Files of a scan as Spark lists them, with Python's answers. */
class PrunedFileIndexTest {
  private static final DataType INT = IntegerType$.MODULE$;
  private static final Object[][] FILES = {
    {"p=1/a", 10, 100, "1", "x"}, {"p=2/b", 20, 200, "2", null}, {"p=1/c", 30, 300, "1", "x"},
  };

  @TempDir Path folder;
  private CallbackServer server;
  private volatile byte[] answer;
  private StatementRequest.Scan scan;

  @BeforeEach
  void start() throws IOException {
    answer = CallbackServer.stream(TestScans.files(List.of("p", "q"), FILES));
    server = new CallbackServer(request -> answer);
    scan = scan(0);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private StatementRequest.Scan scan(int source) {
    return TestScans.scan(
        folder,
        "id INT, p INT, q STRING",
        node -> {
          node.put("accepts_hard_links", true).put("source", source);
          node.withArray("partition_columns").add("p").add("q");
        });
  }

  private FileListing listing() {
    return new FileListing(server.callbacks(), "statement-1", 3, scan.constants, "UTC");
  }

  private PrunedFileIndex index() {
    return new PrunedFileIndex("statement-1", scan, listing());
  }

  private static Expression column(String name, DataType type) {
    return new AttributeReference(
        name,
        type,
        true,
        Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.seq(List.of()));
  }

  private static Expression equal(String name, Object value, DataType type) {
    return new EqualTo(column(name, type), new Literal(value, type));
  }

  private static Seq<Expression> filters(Expression... filters) {
    return ScalaConversions.seq(List.of(filters));
  }

  private static List<String> paths(Seq<PartitionDirectory> directories) {
    return ScalaConversions.list(directories).stream()
        .flatMap(directory -> ScalaConversions.list(directory.files()).stream())
        .map(file -> file.getPath().getName() + " " + file.getLen())
        .toList();
  }

  static Stream<Arguments> partitionFilters() {
    DataType string = StringType$.MODULE$;
    return Stream.of(
        Arguments.of(filters(), List.of("a 10", "c 30", "b 20")),
        Arguments.of(filters(equal("p", 1, INT)), List.of("a 10", "c 30")),
        Arguments.of(filters(equal("P", 2, INT)), List.of("b 20")),
        Arguments.of(filters(equal("p", 3, INT)), List.of()),
        Arguments.of(
            filters(equal("q", UTF8String.fromString("x"), string)), List.of("a 10", "c 30")),
        Arguments.of(filters(new IsNull(column("q", string))), List.of("b 20")),
        Arguments.of(filters(equal("p", 1, INT), new IsNull(column("q", string))), List.of()),
        Arguments.of(
            filters(new GreaterThan(column("p", INT), new Literal(1, INT))), List.of("b 20")));
  }

  @ParameterizedTest
  @MethodSource("partitionFilters")
  void partitionFiltersSelectFiles(Seq<Expression> filters, List<String> expected) {
    Seq<PartitionDirectory> found = index().listFiles(filters, filters());
    assertEquals(expected, paths(found));
    assertEquals(1, server.requests.size());
  }

  @Test
  void filterOnAnotherColumnFails() {
    PrunedFileIndex index = index();
    Seq<Expression> other = filters(equal("id", 1, INT));
    assertThrows(IllegalArgumentException.class, () -> index.listFiles(other, filters()));
    assertEquals(3, paths(index.listFiles(filters(), other)).size());
  }

  @Test
  void directoriesHaveTheirConstants() {
    Seq<PartitionDirectory> found = index().listFiles(filters(), filters());
    assertEquals(2, found.size());
    assertEquals(1, found.apply(0).values().getInt(0));
    assertEquals(2, found.apply(1).values().getInt(0));
    assertTrue(found.apply(1).values().isNullAt(1));
    assertEquals(100, found.apply(0).files().head().getModificationTime());
  }

  @Test
  void eachListIsRequestedOnce() {
    PrunedFileIndex index = index();
    Expression filter = equal("p", 1, INT);
    for (int i = 0; i < 2; i++) {
      index.listFiles(filters(filter), filters());
      index.listFiles(filters(), filters());
    }
    assertEquals(2, server.requests.size());
    JsonNode request = server.requests.get(0);
    assertEquals("statement-1", request.get("statement").textValue());
    assertEquals(3, request.get("scan").intValue());
    assertEquals("UTC", request.get("zone").textValue());
    assertFalse(request.has("rows"));
    assertEquals(2, index.listing().answers().size());
  }

  @Test
  void otherListingWithTheSameFilesHasTheSameAnswers() {
    PrunedFileIndex index = index();
    index.listFiles(filters(equal("p", 1, INT)), filters());
    List<FileListing.Answer> answers = index.listing().answers();
    assertTrue(listing().hasSame(answers));
    answer = CallbackServer.stream(TestScans.files(List.of("p", "q"), FILES[0]));
    assertFalse(listing().hasSame(answers));
    assertTrue(listing().hasSame(List.of()));
  }

  @Test
  void limitedListReportsThatFilesAreLeftOut() {
    FileListing listing = listing();
    listing.want(5);
    answer = CallbackServer.stream(TestScans.files(List.of("p", "q"), true, FILES));
    listing.list(filters(), filters());
    assertEquals(5, server.requests.get(0).get("rows").intValue());
    assertTrue(listing.leavesOut());
    answer = CallbackServer.stream(TestScans.files(List.of("p", "q"), FILES));
    listing.want(0);
    assertFalse(listing.leavesOut());
    listing.list(filters(), filters());
    assertFalse(server.requests.get(1).has("rows"));
    assertFalse(listing.leavesOut());
  }

  @Test
  void filesAreCountedWithTheirBytes() {
    assertArrayEquals(new long[] {3, 60}, index().countListed(filters()));
    answer =
        CallbackServer.value(
            "{\"files\": 7, \"bytes\": 70, \"rows\": null, \"columns\": {}, \"largest\": null}");
    PrunedFileIndex index = index();
    assertArrayEquals(new long[] {7, 70}, index.count(filters()));
    assertEquals(List.of("b", "a").size(), 2);
    PrunedFileIndex estimated =
        index.estimated(filters(), Set.of("b", "a"), Set.of("a"), Set.of("b"));
    assertEquals("[\"a\",\"b\"]", server.requests.get(2).get("estimate").toString());
    assertArrayEquals(new long[] {7, 70}, estimated.count(filters(equal("p", 1, INT))));
    assertEquals(10, index.sizeInBytes());
    assertEquals(70, estimated.sizeInBytes());
  }

  @Test
  void estimatedIndexKnowsTheKeysOfTheQuery() {
    answer =
        CallbackServer.value(
            "{\"files\": 1, \"bytes\": 0, \"rows\": 1, \"columns\": {}, \"largest\": null}");
    PrunedFileIndex index = index().estimated(filters(), Set.of(), Set.of("j"), Set.of("g", "j2"));
    assertTrue(index.isKey("j") && index.isKey("g") && !index.isKey("x"));
    assertTrue(index.isJoinKey("j") && !index.isJoinKey("g"));
    assertEquals(1, index.sizeInBytes()); // Spark has no relation of no size
    PrunedFileIndex counted = index.counted(Map.of("j", 5L, "g", 6L, "x", 7L));
    PrunedFileIndex ordered = counted.ordered(Set.of("u"));
    assertEquals(Map.of("j", 5L), ordered.counted());
    assertEquals(Set.of("u"), ordered.unbounded());
    assertSame(index.estimate(), index().estimatedAs(ordered).estimate());
    assertEquals(Map.of("j", 5L), index().estimatedAs(ordered).counted());
  }

  @Test
  void indexesOfOneStatementOverTheSameFilesAreEqual() {
    PrunedFileIndex index = index();
    assertEquals(index, index());
    assertEquals(index.hashCode(), index().hashCode());
    assertNotEquals(index, new PrunedFileIndex("statement-2", scan, listing()));
    assertNotEquals(index, new PrunedFileIndex("statement-1", scan(1), listing()));
    assertNotEquals(index, scan);
  }

  @Test
  void inputFilesAreAbsolute() {
    assertArrayEquals(
        new String[] {
          "file:" + folder + "/p=1/a", "file:" + folder + "/p=2/b", "file:" + folder + "/p=1/c"
        },
        index().inputFiles());
    assertEquals("file:" + folder, index().rootPaths().head().toString());
    assertEquals(scan.constants, index().partitionSchema());
  }

  @Test
  void pathOutsideOfTheTableIsRejected() {
    answer =
        CallbackServer.stream(
            TestScans.files(List.of("p", "q"), new Object[][] {{"../a", 1, 1, "1", "x"}}));
    RejectionException rejection =
        assertThrows(RejectionException.class, () -> index().listFiles(filters(), filters()));
    assertEquals("log path", rejection.kind());
  }

  @Test
  void schemaIsInferredFromOwnFilesOnly() throws IOException {
    Path foreign = Files.writeString(folder.getParent().resolve(folder.getFileName() + "x"), "");
    Files.createDirectory(folder.resolve("p=1"));
    Files.createSymbolicLink(folder.resolve("p=1/a"), foreign);
    assertThrows(RejectionException.class, () -> index().statuses());
    Files.delete(folder.resolve("p=1/a"));
    Files.delete(foreign);
    assertEquals(3, index().statuses().size());
  }

  @Test
  void failureOfTheListFailsPlanning() {
    answer = CallbackServer.failure("disk");
    IllegalStateException failure =
        assertThrows(IllegalStateException.class, () -> index().listFiles(filters(), filters()));
    assertTrue(failure.getMessage().contains("disk"), failure.getMessage());
    answer = CallbackServer.stream(new byte[] {1, 2, 3});
    assertThrows(IllegalStateException.class, () -> index().listFiles(filters(), filters()));
    answer = new byte[0];
    assertThrows(RuntimeException.class, () -> index().count(filters()));
  }
}
