package deltagateway.analysis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import deltagateway.TestSpark;
import org.apache.spark.sql.classic.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Functions for PostgreSQL's operators: the result and its type for arguments of several types. */
@Tag("spark")
class PostgresFunctionsTest {
  private static final SparkSession SESSION = session();

  private static SparkSession session() {
    PostgresFunctions.register(TestSpark.SPARK.extensions());
    SparkSession session = TestSpark.SPARK.newSession();
    session.conf().set("spark.sql.session.timeZone", "UTC");
    return session;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "pg_divide(5, 2) | 2 | int",
        "pg_divide(-5, 2) | -2 | int",
        "pg_divide(5L, 2S) | 2 | bigint",
        "pg_divide(5S, 2Y) | 2 | smallint",
        "pg_divide(5D, 2) | 2.5 | double",
        "pg_divide(NULL, 2) | null | double",
        "pg_add(DATE '2024-01-31', 1) | 2024-02-01 | date",
        "pg_add(1, DATE '2024-01-31') | 2024-02-01 | date",
        "pg_add(DATE '2024-01-31', INTERVAL '1' DAY) | 2024-02-01T00:00 | timestamp_ntz",
        "pg_add(1, 2) | 3 | int",
        "pg_subtract(DATE '2024-03-01', DATE '2024-02-01') | 29 | int",
        "pg_subtract(DATE '2024-03-01', INTERVAL '1' DAY) | 2024-02-29T00:00 | timestamp_ntz",
        "pg_subtract(3, 2L) | 1 | bigint",
        "pg_at_time_zone('Asia/Tokyo', TIMESTAMP '2024-01-01 00:00:00Z') | 2024-01-01T09:00 |"
            + " timestamp_ntz",
        "pg_date_trunc('month', TIMESTAMP_NTZ '2024-01-15 01:00:00') | 2024-01-01T00:00 |"
            + " timestamp_ntz",
        "string(pg_at_time_zone('Asia/Tokyo', TIMESTAMP_NTZ '2024-01-01 09:00:00')) | 2024-01-01"
            + " 00:00:00 | string",
        "double(pg_epoch(DATE '1970-01-02')) | 86400.0 | double",
        "double(pg_epoch(INTERVAL '1 02:00:00' DAY TO SECOND)) | 93600.0 | double",
        "pg_text(2D) | 2 | string",
        "pg_text(2.50) | 2.50 | string",
        "pg_text(array(1, NULL)) | {1,NULL} | string",
        "pg_text(true) | true | string",
        "pg_output(true) | t | string",
        "pg_round(2.5D) | 2.0 | double",
        "pg_round(2.5) | 3 | decimal(2,0)",
        "pg_integer(2.5D) | 2.0 | double",
        "pg_integer(2.5) | 3 | decimal(2,0)",
        "pg_numeric(5) | 5 | decimal(38,0)",
        "pg_json_get('{\"a\": \"x\"}', 'a') | \"x\" | string",
        "pg_json_get_text('{\"a\": \"x\"}', 'a') | x | string",
        "pg_json_get_text(array(1, 2), -1S) | 2 | string",
        "pg_json_get_text(parse_json('{\"a\": 1}'), 'a') | 1 | string",
        "pg_json_get_text(NULL, 'a') | null | string",
        "pg_json_path('{\"a\": [1, 2]}', '{a,-1}') | 2 | string",
        "pg_json_path_text(named_struct('a', map('b', 'x')), array('a', 'b')) | x | string",
        "pg_json_path_text('[1]', array(NULL)) | null | string",
        "pg_json(named_struct('a', 1)) | {\"a\":1} | string",
        "pg_uuid('{A0EEBC999C0B4EF8-BB6D6BB9BD380A11}') | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 |"
            + " string",
        "pg_uuid(NULL) | null | string",
        "pg_jsonb('{\"b\":1,\"a\":2}') | {\"a\": 2, \"b\": 1} | string",
      })
  void callHasTheMeaningForItsTypes(String call, String expected, String type) {
    var rows = SESSION.sql("SELECT " + call + " AS value");
    assertEquals(type, rows.schema().apply(0).dataType().simpleString());
    assertEquals(expected, String.valueOf(((org.apache.spark.sql.Row[]) rows.collect())[0].get(0)));
  }
}
