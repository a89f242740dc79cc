package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import deltagateway.TestSpark;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Expressions that depend on more than one row. */
@Tag("spark")
class CrossRowExpressionsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "SELECT id + 1 FROM range(3) | {}",
        "SELECT max(id) FROM range(3) | {\"aggregate\":\"max(id)\"}",
        "SELECT explode(array(1)) | {\"generator\":\"explode(array(1))\"}",
        "SELECT current_date() | {\"clock\":\"current_date()\"}",
        "SELECT current_user() | {\"session\":\"current_user()\"}",
        "SELECT rand(5) + 1 FROM range(3) | {\"non_deterministic\":\"rand(5)\"}",
        "SELECT min(id), max(id) FROM range(3) | {\"aggregate\":\"min(id)\"}",
        "SELECT concat(current_user(), string(rand(1)))"
            + " | {\"session\":\"current_user()\",\"non_deterministic\":\"rand(1)\"}",
      })
  void firstExpressionOfEachKindIsReported(String query, String expected) {
    String json = CrossRowExpressions.of(TestSpark.analyzed(query)).toString();
    assertEquals(expected, json.replace("`", ""));
  }
}
