package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLHandshakeException;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.hadoop.hdfs.BlockMissingException;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.http.NoHttpResponseException;
import org.apache.spark.SparkException;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Details of exceptions that Python reads. */
@Tag("spark")
class ExceptionDetailsTest {
  /** Parameters of the messages of all conditions below. */
  private static final Map<String, String> PARAMETERS =
      TestSpark.words(
              "config value sourceType targetType failureCount failureDetails path jobId reason")
          .stream()
          .collect(Collectors.toMap(name -> name, name -> "/" + name));

  private static JsonNode details(Throwable failure) throws Exception {
    return StatementRequest.JSON.readTree(ExceptionDetails.describe(failure));
  }

  private static SparkException error(String condition, Throwable cause) {
    return new SparkException(condition, ScalaConversions.map(PARAMETERS), cause);
  }

  private static AnalysisException analysisError(String text) {
    return assertThrows(AnalysisException.class, () -> TestSpark.analyzed(text));
  }

  @Test
  void rejectionIsFoundBelowOtherExceptions() throws Exception {
    RejectionException rejection = new RejectionException("function", "reflect");
    assertEquals(
        "{\"stopped\":false,\"refusal\":\"function\",\"subject\":\"reflect\"}",
        details(new IOException(new IllegalStateException(rejection))).toString());
    assertEquals("function: reflect", rejection.getMessage());
  }

  @Test
  void rejectionHasItsPosition() throws Exception {
    RejectionException rejection =
        assertThrows(
            RejectionException.class,
            () ->
                TestSpark.guard()
                    .ensureMayAnalyze(
                        TestSpark.parsed("SELECT  reflect('a')"), java.util.Set.of()));
    JsonNode node = details(rejection);
    assertEquals(8, node.get("start").intValue());
    assertEquals("SELECT  reflect('a')", node.get("text").textValue());
    assertFalse(details(new RejectionException("a", "b")).has("start"));
  }

  @ParameterizedTest
  @CsvSource({"'a +', 3", "'a\n + )\n', 5"})
  void syntaxErrorHasItsPosition(String text, int start) throws Exception {
    ParseException error =
        assertThrows(
            ParseException.class,
            () -> TestSpark.SPARK.sessionState().sqlParser().parseExpression(text));
    JsonNode node = details(error);
    assertEquals(text, node.get("text").textValue());
    assertEquals(start, node.get("start").intValue());
  }

  @Test
  void exceptionWithoutConditionIsTheInnermost() throws Exception {
    JsonNode node = details(new IllegalStateException("outer", new IOException("inner")));
    assertEquals("java.io.IOException", node.get("class").textValue());
    assertEquals("inner", node.get("message").textValue());
    assertEquals("inner", node.get("cause").textValue());
    assertFalse(node.get("out_of_memory").booleanValue());
    assertFalse(node.get("of_storage").booleanValue());
    assertFalse(node.has("condition"));
    assertEquals("null", details(new IOException()).get("message").textValue());
  }

  @Test
  void outermostConditionIsReported() throws Exception {
    Throwable failure = error("DIVIDE_BY_ZERO", error("CAST_OVERFLOW", new IOException("end")));
    JsonNode node = details(new IllegalStateException(failure));
    assertEquals("DIVIDE_BY_ZERO", node.get("condition").textValue());
    assertEquals("22012", node.get("sqlstate").textValue());
    assertEquals("/path", node.get("path").textValue());
    assertEquals("end", node.get("cause").textValue());
  }

  @ParameterizedTest
  @CsvSource({
    "TASK_WRITE_FAILED, CAST_OVERFLOW, CAST_OVERFLOW",
    "STAGE_MATERIALIZATION_MULTIPLE_FAILURES, CAST_OVERFLOW, CAST_OVERFLOW",
    "DIVIDE_BY_ZERO, CAST_OVERFLOW, DIVIDE_BY_ZERO",
  })
  void conditionOfAWrapperIsReplacedByItsCauses(String outer, String inner, String reported)
      throws Exception {
    assertEquals(reported, details(error(outer, error(inner, null))).get("condition").textValue());
  }

  @Test
  void firstOfSeveralFailedStagesIsReported() throws Exception {
    SparkException stages = error("STAGE_MATERIALIZATION_MULTIPLE_FAILURES", null);
    assertEquals(
        "STAGE_MATERIALIZATION_MULTIPLE_FAILURES", details(stages).get("condition").textValue());
    stages.addSuppressed(error("SPARK_JOB_CANCELLED", null));
    assertEquals("SPARK_JOB_CANCELLED", details(stages).get("condition").textValue());
    stages.addSuppressed(error("DIVIDE_BY_ZERO", null));
    stages.addSuppressed(error("CAST_OVERFLOW", null));
    assertEquals("DIVIDE_BY_ZERO", details(stages).get("condition").textValue());
  }

  static Stream<Throwable> storageErrors() {
    return Stream.of(
        new ConnectException("refused"),
        new SocketTimeoutException(),
        new UnknownHostException("h"),
        new SSLHandshakeException("bad"),
        new java.nio.file.AccessDeniedException("/f"),
        new AccessControlException("no"),
        new RemoteException("class", "m"),
        new BlockMissingException("f", "d", 1),
        new NoHttpResponseException("of a connector"));
  }

  @ParameterizedTest
  @MethodSource("storageErrors")
  void errorOfAStoreIsFoundBelowOthers(Throwable error) throws Exception {
    assertTrue(details(new IOException(error)).get("of_storage").booleanValue());
    assertTrue(details(error("DIVIDE_BY_ZERO", error)).get("of_storage").booleanValue());
  }

  @ParameterizedTest
  @MethodSource("storageErrors")
  void errorOfAFileIsNoneOfAStoreWhateverItsCause(Throwable error) throws Exception {
    EOFException end = new EOFException();
    end.initCause(error);
    assertFalse(details(end).get("of_storage").booleanValue());
    assertFalse(details(new IOException("no such file")).get("of_storage").booleanValue());
  }

  static Stream<Throwable> memoryErrors() {
    return Stream.of(
        new OutOfMemoryError("heap"),
        new OutOfMemoryException("direct"),
        new SparkException("a task failed: " + OutOfMemoryException.class.getName() + ": x"));
  }

  @ParameterizedTest
  @MethodSource("memoryErrors")
  void exhaustedMemoryIsFound(Throwable error) throws Exception {
    assertTrue(details(new IOException(error)).get("out_of_memory").booleanValue());
    assertFalse(details(new IOException("x")).get("out_of_memory").booleanValue());
  }

  @Test
  void outOfMemoryIsFoundInCausesOnly() {
    assertTrue(ExceptionDetails.isOutOfMemory(new IOException(new OutOfMemoryError())));
    assertFalse(ExceptionDetails.isOutOfMemory(new IOException("java.lang.OutOfMemoryError")));
  }

  @Test
  void errorOfSparkHasItsFragmentAndText() throws Exception {
    String text = "SELECT 1, no_such_column";
    JsonNode node = details(analysisError(text));
    assertEquals("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", node.get("condition").textValue());
    assertEquals("no_such_column", node.get("fragment").textValue());
    assertEquals(10, node.get("start").intValue());
    assertEquals(text, node.get("text").textValue());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT id, id + k AS s FROM (SELECT id, id AS k FROM range(3)) GROUP BY id | k",
        "SELECT max(id), k FROM (SELECT id, id AS k FROM range(3)) GROUP BY id | k",
        "SELECT id % 2, sum(id), abs(k) FROM (SELECT id, id AS k FROM range(3)) GROUP BY id % 2 |"
            + " k",
        "SELECT max(id), id FROM range(3) | id",
      })
  void columnThatIsNotGroupedIsNamed(String text, String column) throws Exception {
    JsonNode node = details(analysisError(text));
    assertEquals(column, node.path("ungrouped").textValue(), node.toString());
    assertTrue(node.get("start").intValue() > 0);
  }

  @Test
  void groupedColumnsAreNotNamed() throws Exception {
    TestSpark.analyzed("SELECT id % 2, id % 2 + 1, max(id) FROM range(3) GROUP BY id % 2");
    assertFalse(details(analysisError("SELECT nothing")).has("ungrouped"));
  }
}
