package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Parts of JSON texts, their form as `jsonb`, and texts that are no JSON. */
class JsonTextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      nullValues = "null",
      value = {
        "{\"a\": {\"b\" : 1}, \"c\": 2} | a | {\"b\" : 1}",
        "{\"a\": 1, \"a\": 2} | a | 2",
        "{\"\\u0061\": 1} | a | 1",
        "{\"a\": \"x,}\"} | a | \"x,}\"",
        "{} | a | null",
        "[5, [6], \"7\"] | 1 | [6]",
        "[5, 6] | -1 | 6",
        "[5, 6] | 2 | null",
        "[5, 6] | -3 | null",
        "[5, 6] | 99999999999 | null",
        "[5] | a | null",
        "5 | 0 | null",
      })
  void stepLeadsToThePartAsItIsWritten(String text, String step, String expected) {
    JsonText json = new JsonText(text);
    JsonText.Span found = json.step(json.whole(), step);
    assertEquals(expected, found == null ? null : json.written(found));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"bb\":1,\"a\":[1,2 ],\"a\":{ }} | {\"a\": {}, \"bb\": 1}",
        "[1e3,-0.0,1.50,2E-3] | [1000, 0.0, 1.50, 0.002]",
        "\"\\u00e9\\/\\u001f\\t\" | \"é/\\u001f\\t\"",
        "\"\\ud83d\\ude00\" | \"😀\"",
        "true | true",
      })
  void normalizedFormIsThatOfJsonb(String text, String expected) {
    JsonText json = new JsonText(text);
    assertEquals(expected, json.normalized(json.whole()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e1001", "-1E-99999999999", "[\"\\u0000\"]", "{\"\\udead\": 1}"})
  void valueThatJsonbDoesNotHaveIsRejected(String text) {
    JsonText json = new JsonText(text);
    JsonText.Span whole = json.whole();
    assertThrows(JsonText.Malformed.class, () -> json.normalized(whole));
  }

  @Test
  void thousandLevelsAreReadAndMoreAreRejected() {
    String text = "[".repeat(1001) + "]".repeat(1001);
    JsonText json = new JsonText(text);
    assertEquals(text, json.normalized(json.whole()));
    JsonText deeper = new JsonText("[" + text + "]");
    assertThrows(JsonText.Malformed.class, deeper::whole);
  }
}
