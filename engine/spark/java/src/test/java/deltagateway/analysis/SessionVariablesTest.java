package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.protocol.UnsafeRowBytes;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Variables of a session and of a script, while a statement is analyzed. */
@Tag("spark")
class SessionVariablesTest {
  private static void add(ArrayNode variables, String name, int value) {
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    InternalRow row = InternalRow.apply(ScalaConversions.<Object>one(value));
    UnsafeRowBytes.put(answer, StructType.fromDDL("v INT"), new InternalRow[] {row}, 100);
    ObjectNode variable = variables.addObject().put("name", name).put("default", "0");
    ObjectNode node = variable.putObject("value").put("column", 0);
    node.set("row_type", answer.get("row_type"));
    node.set("row", answer.get("rows").get(0));
  }

  /** Returns x = 1 and s = 5 in the session, x = 2 in an outer block, x = 3 in an inner one. */
  private static SessionVariables variables() {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    ArrayNode session = node.putArray("session");
    add(session, "x", 1);
    add(session, "s", 5);
    ArrayNode scopes = node.putArray("scopes");
    add(scopes.addObject().put("label", "outer_block").putArray("variables"), "x", 2);
    add(scopes.addObject().put("label", "inner_block").putArray("variables"), "x", 3);
    return new SessionVariables(node);
  }

  private static LogicalPlan analyzed(SessionVariables variables, String text) {
    return variables.during(TestSpark.SPARK, () -> TestSpark.analyzed(text));
  }

  @ParameterizedTest
  @CsvSource({
    "x, 3",
    "X, 3",
    "inner_block.x, 3",
    "outer_block.x, 2",
    "OUTER_BLOCK.X, 2",
    "session.x, 1",
    "system.session.x, 1",
    "s, 5",
  })
  void nameIsThatOfTheInnermostVariable(String name, int expected) {
    LogicalPlan plan = analyzed(variables(), "SELECT " + name + " AS v");
    assertEquals(expected, Dataset$.MODULE$.ofRows(TestSpark.SPARK, plan).head().get(0));
    assertEquals(1, SessionVariables.readBy(plan).size());
  }

  @Test
  void columnIsBeforeVariables() {
    LogicalPlan plan = analyzed(variables(), "SELECT x FROM VALUES (9) AS t(x)");
    assertEquals("[]", SessionVariables.readBy(plan).toString());
  }

  @Test
  void variablesAreGoneAfterwardsAlsoIfTheAnalysisFails() {
    assertThrows(AnalysisException.class, () -> analyzed(variables(), "SELECT s, nothing"));
    assertThrows(AnalysisException.class, () -> TestSpark.analyzed("SELECT s"));
    assertThrows(AnalysisException.class, () -> analyzed(variables(), "SELECT third_block.x"));
  }

  @Test
  void variablesInSubqueriesAreListed() {
    LogicalPlan plan =
        analyzed(variables(), "SELECT (SELECT max(id) FROM range(3) WHERE id < s) + x");
    assertEquals("[\"x\",\"s\"]", SessionVariables.readBy(plan).toString());
  }

  @Test
  void statementWithoutVariablesRunsAsItIs() {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.putArray("session");
    node.putArray("scopes");
    SessionVariables none = new SessionVariables(node);
    assertEquals("[]", SessionVariables.readBy(analyzed(none, "SELECT 1")).toString());
    assertThrows(AnalysisException.class, () -> analyzed(none, "SELECT x"));
  }
}
