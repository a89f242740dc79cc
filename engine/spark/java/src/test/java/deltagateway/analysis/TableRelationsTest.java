package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Relations in place of their names, some of which have hidden columns. */
@Tag("spark")
class TableRelationsTest {
  /** Returns the relations `r` (a = 0 to 2, hidden h = a + 10) and `p` (b = 7). */
  private static TableRelations relations() throws Exception {
    StatementRequest request =
        new StatementRequest(TestRequests.statement("s", "SELECT 1").toString());
    TableRelations relations = new TableRelations(new FunctionBodies(null, null, request));
    LogicalPlan rows = TestSpark.analyzed("SELECT id AS a, id + 10 AS h FROM range(3)");
    relations.add("R", new HiddenColumns(rows, Set.of("h")));
    relations.add("P", TestSpark.analyzed("SELECT 7 AS b"));
    return relations;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      value = {
        "SELECT * FROM r ORDER BY a # [[0], [1], [2]]",
        "SELECT h, * FROM r WHERE h = 11 # [[11,1]]",
        "SELECT R.h FROM r ORDER BY h DESC LIMIT 1 # [[12]]",
        "SELECT x.h, y.h FROM r x JOIN r y ON x.h = y.h + 1 ORDER BY 1 # [[11,10], [12,11]]",
        "SELECT * FROM p # [[7]]",
        "SELECT * FROM P, r WHERE a = 1 # [[7,1]]",
        "SELECT (SELECT max(h) FROM r) # [[12]]",
        "WITH q AS (SELECT h FROM r WHERE a = 0) SELECT * FROM q # [[10]]",
        "WITH p AS (SELECT 1 AS b) SELECT * FROM p # [[1]]",
        "WITH q AS (SELECT * FROM p), p AS (SELECT 1 AS b) SELECT * FROM q, p # [[7,1]]",
        "SELECT a, sum(a) OVER w FROM r WINDOW w AS (ORDER BY (SELECT max(b) FROM p)) ORDER BY 1"
            + " LIMIT 1 # [[0,3]]",
        "FROM p |> SET b = (SELECT max(h) FROM r) # [[12]]",
        "SELECT * FROM VALUES (5) AS p(b) # [[5]]",
      })
  void nameStandsForItsRelation(String text, String expected) throws Exception {
    LogicalPlan plan = TestSpark.analyzed(relations().resolve(TestSpark.parsed(text)));
    assertEquals(
        expected, Dataset$.MODULE$.ofRows(TestSpark.SPARK, plan).collectAsList().toString());
  }

  @Test
  void otherNamesRemain() throws Exception {
    LogicalPlan parsed = TestSpark.parsed("SELECT * FROM other.p, q");
    assertEquals(parsed.toString(), relations().resolve(parsed).toString());
  }
}
