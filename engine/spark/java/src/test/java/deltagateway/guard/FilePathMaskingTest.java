package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.internals.ScalaConversions;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths of files in views whose tables the reader may not read. */
@Tag("spark")
class FilePathMaskingTest {
  @BeforeAll
  static void createViews() {
    ObjectNode scan = TestRequests.scan("masked_table", "id BIGINT, path STRING, name STRING");
    ((ArrayNode) scan.get("path_columns")).add("path");
    TestSpark.name("masked_table", TestRequests.relation("s", scan));
    LogicalPlan rows = TestSpark.analyzed("SELECT id, name FROM masked_table");
    TestSpark.name("masked_view", SecurityBarrierViews.mark(rows));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "path | true",
        "id | false",
        "upper(path) | true",
        "input_file_name() | true",
        "input_file_block_start() + 1 | true",
        "input_file_block_length() | true",
        "named_struct('a', id, 'b', path).b | true",
        "named_struct('a', id, 'b', path).a | true",
        "(SELECT max(path) FROM masked_table) | true",
        "(SELECT max(name) FROM masked_table) | false",
        "max(path) OVER () | true",
        "CASE WHEN path IS NULL THEN 1 END | true",
        "rand() | false",
      })
  void columnOfAViewThatDependsOnAPathIsNull(String expression, boolean isMasked) {
    LogicalPlan rows =
        TestSpark.analyzed(
            "SELECT name, " + expression + " AS x FROM masked_table WHERE path > ''");
    LogicalPlan masked = FilePathMasking.ofView(rows);
    if (!isMasked) {
      assertSame(rows, masked);
      return;
    }
    Project project = (Project) masked;
    assertSame(rows, project.child());
    assertEquals(rows.output().head(), project.projectList().head());
    Alias alias = (Alias) project.projectList().apply(1);
    assertEquals("NULL", alias.child().toString().toUpperCase(Locale.ROOT));
    assertEquals(rows.output().apply(1).dataType(), alias.dataType());
    assertEquals(rows.schema().fieldNames()[1], masked.schema().fieldNames()[1]);
  }

  private static String masked(String text) {
    return FilePathMasking.ofQuery(TestSpark.analyzed(text)).toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT input_file_name(), id FROM masked_view",
        "SELECT id FROM masked_view WHERE input_file_name() > ''",
        "SELECT id FROM masked_view ORDER BY input_file_block_start()",
        "SELECT length(input_file_name()) FROM (SELECT * FROM masked_view) WHERE id > 0",
        "SELECT id FROM range(3) WHERE id IN (SELECT input_file_block_start() FROM masked_view)",
        "WITH c AS (SELECT * FROM masked_view) SELECT input_file_name() FROM c a",
        "SELECT input_file_name() FROM masked_table UNION SELECT input_file_name() FROM"
            + " masked_view",
      })
  void functionOfFilesFindsNoneInTheRowsOfAView(String text) {
    String plan = masked(text);
    int before = TestSpark.analyzed(text).toString().split("input_file_", -1).length;
    int after =
        plan.split("input_file_(name|block_start|block_length)\\(\\)(?! AS| ASC)", -1).length;
    assertTrue(after < before, plan);
  }

  @Test
  void functionOfFilesHasTheValuesOfRowsWithoutAFile() {
    LogicalPlan plan =
        FilePathMasking.ofQuery(
            TestSpark.analyzed(
                "SELECT input_file_name() AS a, input_file_block_start() AS b,"
                    + " input_file_block_length() AS c FROM masked_view"));
    assertEquals(
        List.of("", -1L, -1L),
        ScalaConversions.list(((Project) plan).projectList()).stream()
            .map(column -> ((Literal) ((Alias) column).child()).value())
            .map(value -> value instanceof Long ? value : value.toString())
            .toList());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT input_file_name(), id FROM masked_table",
        "SELECT id FROM masked_view WHERE id IN (SELECT length(input_file_name()) FROM"
            + " masked_table)",
        "SELECT v.id, w.p FROM masked_view v JOIN (SELECT id, input_file_name() AS p FROM"
            + " masked_table) w ON v.id = w.id",
      })
  void functionOfFilesOverOtherRowsIsUnchanged(String text) {
    LogicalPlan plan = TestSpark.analyzed(text);
    assertTrue(plan.toString().contains("input_file_name()"));
    assertEquals(plan.toString(), FilePathMasking.ofQuery(plan).toString());
  }

  @Test
  void viewItselfIsUnchanged() {
    LogicalPlan view =
        SecurityBarrierViews.mark(TestSpark.analyzed("SELECT input_file_name() FROM masked_table"));
    assertSame(view, FilePathMasking.ofQuery(view));
  }
}
