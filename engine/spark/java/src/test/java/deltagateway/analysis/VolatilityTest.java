package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import deltagateway.TestSpark;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Sample$;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Volatility of parsed and of analyzed queries. */
@Tag("spark")
class VolatilityTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "SELECT 1 | always",
        "SELECT id, upper(string(id)) FROM range(3) | always",
        "SELECT current_timestamp() | never",
        "SELECT current_date | never",
        "SELECT now() | never",
        "SELECT localtimestamp() | never",
        "SELECT current_time() | never",
        "SELECT unix_timestamp() | never",
        "SELECT unix_timestamp('2024-01-01', 'yyyy-MM-dd') | always",
        "SELECT rand() | never",
        "SELECT uuid() | never",
        "SELECT shuffle(array(1, 2)) | never",
        "SELECT current_user() | session",
        "SELECT current_schema(), current_catalog() | session",
        "SELECT current_timezone() | session",
        "SELECT current_user(), rand() | never",
        "SELECT id FROM range(3) WHERE id > (SELECT length(current_user())) | session",
        "SELECT id FROM range(3) WHERE EXISTS (SELECT rand() AS r FROM range(2)) | never",
        "WITH q AS (SELECT uuid() AS u) SELECT 1 FROM q | never",
        "SELECT date('today') | never",
        "SELECT timestamp(' Now ') | never",
        "SELECT CAST('yesterday' AS TIMESTAMP_NTZ) | never",
        "SELECT date('2024-01-01') | always",
        "SELECT 'today', string('now') | always",
        "SELECT CAST(concat('to', 'day') AS DATE) | never",
        "SELECT CAST(NULL AS DATE), CAST(string(id) AS DATE) FROM range(3) | always",
        "SELECT * FROM (SELECT * FROM range(9)) TABLESAMPLE (50 PERCENT) | never",
        "SELECT * FROM (SELECT * FROM range(9)) TABLESAMPLE (3 ROWS) | always",
        "SELECT transform(array(1), x -> x + rand()) | never",
        "SELECT sum(id) OVER w FROM range(3) WINDOW w AS (ORDER BY rand()) | never",
      })
  void analyzedQueryHasItsVolatility(String query, String expected) {
    assertEquals(expected, Volatility.of(TestSpark.analyzed(query)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "SELECT 1 | always",
        "SELECT CURRENT_TIMESTAMP | never",
        "SELECT `Now`() | never",
        "SELECT builtin.rand() | never",
        "SELECT * FROM range(int(rand() * 5)) | never",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (uuid())) | never",
        "SELECT current_user, USER() | session",
        "SELECT * FROM range(length(current_schema())) | session",
        "SELECT unix_timestamp() | never",
        "SELECT unix_timestamp(t) FROM u | always",
        "SELECT t.now FROM t | never",
        "SELECT 'now', date('today') | always",
        "SELECT DATE 'today' | never",
        "SELECT date'Tomorrow CET' | never",
        "SELECT TIMESTAMP \"now\" | never",
        "SELECT timestamp_ntz ' yesterday ' | never",
        "SELECT TIMESTAMP_LTZ /* x */ 'now' | never",
        "SELECT TIMESTAMP\u00a0'today' | never",
        "SELECT DATE r'today' | never",
        "SELECT DATE 'to\\u0064ay' | never",
        "SELECT '\uD83D\uDE00', DATE 'today' | never",
        "SELECT '\uD83D\uDE00 now', DATE '2026-01-01' | always",
        "SELECT id FROM t WHERE d IN (DATE '2026-01-01', DATE 'today') | never",
        "SELECT * FROM VALUES (1, DATE 'today') | never",
        "SELECT * FROM VALUES (1, 'today') | always",
        "SELECT * FROM VALUES ('now \\\\', DATE '2026-01-01', TIMESTAMP '2026-01-01') | always",
        "SELECT * FROM VALUES (DATE '2026-01-01', TIMESTAMP r' now') | never",
        "SELECT * FROM VALUES (DATE '2026-01-01', TIMESTAMP\u00a0'to\\u0064ay') | never",
        "SELECT * FROM VALUES (DATE /* ' */ 'today') | never",
        "SELECT * FROM VALUES (DATE '2026-01-01'), (current_date()) | never",
        "SELECT * FROM VALUES (DATE '2026-01-01') | always",
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (DATE 'today')) | never",
        "WITH q AS (SELECT id FROM t WHERE EXISTS (SELECT DATE 'now')) SELECT 1 | never",
        "SELECT DATE '2026-01-01', 'today', TIMESTAMP 'epoch', TIME '10:00:00' | always",
        "SELECT date, 'now' FROM t -- DATE 'today' | always",
        "SELECT sum(1) OVER w FROM t WINDOW w AS (ORDER BY random()) | never",
        "WITH q AS (SELECT session_user()) SELECT 1 | session",
        "SELECT * FROM VALUES (curdate()) | never",
      })
  void parsedQueryHasItsVolatility(String query, String expected) {
    assertEquals(expected, Volatility.of(TestSpark.parsed(query)));
  }

  @Test
  void expressionOfATableHasItsVolatility() throws Exception {
    for (String text : new String[] {"DATE 'today'", "DATE '2026-01-01'"}) {
      var expression = TestSpark.SPARK.sessionState().sqlParser().parseExpression(text);
      var rows = TestSpark.analyzed("SELECT * FROM range(3)");
      var checked = new Filter(new IsNotNull(expression), rows);
      assertEquals(text.contains("today") ? "never" : "always", Volatility.of(checked));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "SELECT ? | DATE 'today' | never",
        "SELECT ? | TIMESTAMP 'Now' | never",
        "SELECT ? | DATE 'to\\u0064ay' | never",
        "SELECT ? | DATE '2026-01-01' | always",
        "SELECT ? | 42 | always",
        "SELECT ?, DATE 'today' | 42 | never",
        "SELECT ?, TIMESTAMP_NTZ -- x | 42 | never",
        "SELECT ?, date, 'today', DATE '2026-01-01' -- now | 42 | always",
      })
  void textWithParametersHasItsVolatility(String text, String value, String expected) {
    var parameters = new ObjectMapper().createArrayNode();
    assertEquals("always", Volatility.ofText(text, parameters));
    parameters.addObject().put("type", "date").put("value", "2026-01-01");
    parameters.addObject().put("text", value);
    assertEquals(expected, Volatility.ofText(text, parameters));
  }

  @ParameterizedTest
  @CsvSource({
    "always, always, always",
    "always, session, session",
    "always, never, never",
    "session, session, session",
    "session, never, never",
    "never, never, never",
  })
  void strongerVolatilityOfTwoCounts(String one, String other, String expected) {
    assertEquals(expected, Volatility.both(one, other));
    assertEquals(expected, Volatility.both(other, one));
  }

  @Test
  void sampleOfAllRowsIsNotVolatile() {
    var rows = TestSpark.analyzed("SELECT * FROM range(3)");
    assertEquals("always", Volatility.of(Sample$.MODULE$.apply(0.0, 1.0, false, 1L, rows)));
    assertEquals("never", Volatility.of(Sample$.MODULE$.apply(0.0, 0.9, false, 1L, rows)));
    assertEquals("never", Volatility.of(Sample$.MODULE$.apply(0.0, 1.0, true, 1L, rows)));
  }
}
