package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.optimizer.FiredRules;
import deltagateway.result.ResultSpool;
import deltagateway.session.StepTimings;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Frames of responses. */
@Tag("spark")
class ResponseFrameTest {
  private static JsonNode header(byte[] frame) throws Exception {
    ByteBuffer bytes = ByteBuffer.wrap(frame);
    byte[] json = new byte[bytes.getInt()];
    bytes.get(json);
    assertEquals(0, bytes.remaining());
    return StatementRequest.JSON.readTree(json);
  }

  @Test
  void columnsHaveNameTypeAndCrossRowExpressions() throws Exception {
    JsonNode header =
        header(
            ResponseFrame.ofColumns(
                TestSpark.analyzed("SELECT max(id) AS m, array('x') AS a FROM range(3)"),
                "Asia/Tokyo"));
    Schema.QUERY_COLUMNS.check(header);
    header.get("columns").forEach(Schema.COLUMN::check);
    assertEquals("Asia/Tokyo", header.get("time_zone").textValue());
    assertEquals(
        "{\"name\":\"m\",\"type\":\"long\",\"ddl\":\"bigint\",\"nullable\":true,\"comment\":null,"
            + "\"metadata\":{}}",
        header.get("columns").get(0).toString());
    assertEquals("array<string>", header.get("columns").get(1).get("ddl").textValue());
    assertFalse(header.get("columns").get(1).get("nullable").booleanValue());
    assertEquals("{\"aggregate\":\"max(id)\"}", header.get("traits").toString());
    assertEquals("[]", header.get("variables").toString());
  }

  @Test
  void declaredLengthAndCommentAreReported() throws Exception {
    StructType schema =
        org.apache.spark.sql.catalyst.util.CharVarcharUtils$.MODULE$
            .replaceCharVarcharWithStringInSchema(
                StructType.fromDDL("a CHAR(3) COMMENT 'three', b STRING"));
    JsonNode columns = ResponseFrame.header(schema, "UTC").get("columns");
    assertEquals("char(3)", columns.get(0).get("ddl").textValue());
    assertEquals("three", columns.get(0).get("comment").textValue());
    assertEquals("three", columns.get(0).get("metadata").get("comment").textValue());
    assertEquals("string", columns.get(1).get("ddl").textValue());
    assertNull(columns.get(1).get("comment").textValue());
  }

  @Test
  void resultHasRowsVolatilityAndSteps(@TempDir Path folder) throws Exception {
    ObjectNode request = TestRequests.statement("s", "SELECT 1").put("spool", folder.toString());
    StatementRequest parsed = new StatementRequest(request.toString());
    ResultSpool spool = new ResultSpool(parsed, null, null);
    spool.close();
    JsonNode header =
        header(
            ResponseFrame.ofResult(
                StructType.fromDDL("a INT"),
                "UTC",
                spool,
                "always",
                new StepTimings(),
                FiredRules.begin("s")));
    Schema.RESULT.check(header);
    assertEquals(0, header.get("rows").longValue());
    assertEquals("always", header.get("repeatable").textValue());
    assertEquals("{}", header.get("steps_us").toString());
    assertEquals("{}", header.get("rules").toString());
    assertEquals("[]", header.get("segments").toString());
  }
}
