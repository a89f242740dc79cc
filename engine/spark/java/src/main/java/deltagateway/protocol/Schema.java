package deltagateway.protocol;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * JSON objects that cross between Python and Java, with the names of their fields.
 * `engine/spark/schema.py` declares the same; a test compares both. A field after `?` may be
 * missing.
 */
public enum Schema {
  // Requests
  STATEMENT(
      "id principal instant_us text scans views given hidden_relations parameters variables"
          + " body_call spool result_bytes_max rows_wanted bytes_wanted pool announces_rows"
          + " reports_lineage"),
  SCAN(
      "relation metadata root shown_root allowed_roots excluded_roots accepts_hard_links lease"
          + " source hidden bytes schema read shown physical by_id partition_columns path_columns"
          + " vectors format row_tracking"),
  FORMAT("kind options infers"),
  ROW_TRACKING(
      "base_row_id default_row_commit_version row_id_column row_commit_version_column field_ids"),
  VIEW(
      "relation label text columns temporary is_barrier is_hidden hides_places settings"
          + " unlisted_columns schema_mode parameters frame"),
  FRAME("plan inputs"),
  FRAME_INPUT("name relation alias"),
  PYTHON_ROWS("relation columns keys costly paths is_stamped spooled"),
  SPOOLED_ROWS("files rows bytes"),
  PARAMETER("name value type ?text ?row_value"),
  ROW_VALUE("row_type row column"),
  VARIABLES("session scopes"),
  SCOPE("label variables"),
  VARIABLE("name value default"),
  // Responses
  RESULT("time_zone columns steps_us rules rows repeatable segments"),
  QUERY_COLUMNS("time_zone columns traits variables"),
  COLUMN("name type ddl nullable comment metadata"),
  ASSIGNMENT("default row_type rows ?targets"),
  LINEAGE("columns rows"),
  // Callbacks of Java
  FILES_CALLBACK("statement scan zone filters ?rows ?estimate"),
  ROWS_CALLBACK("statement given ?chosen ?used"),
  FIRST_ROWS_CALLBACK("statement result"),
  DISK_CALLBACK("statement disk_bytes needed"),
  CREDENTIALS_CALLBACK("statement lease place"),
  // Statistics
  JVM_STATISTICS(
      "heap_used_bytes heap_committed_bytes heap_max_bytes column_cache_bytes collecting_ms"
          + " jobs_running jobs_succeeded jobs_failed tasks_running tasks_succeeded tasks_failed"),
  TASK_COUNTS("total running done failed"),
  JOB("id began_ms ended_ms stages tasks failed_tasks has_succeeded");

  /** Version of all of these, which Python compares when it starts Java. */
  public static final int VERSION = 4;

  private static final List<Schema> CALLBACKS =
      List.of(
          FILES_CALLBACK, ROWS_CALLBACK, FIRST_ROWS_CALLBACK, DISK_CALLBACK, CREDENTIALS_CALLBACK);

  private final Set<String> required = new LinkedHashSet<>();
  private final Set<String> optional = new LinkedHashSet<>();

  Schema(String fields) {
    for (String field : fields.split(" ")) {
      if (field.startsWith("?")) optional.add(field.substring(1));
      else required.add(field);
    }
  }

  /** Throws if Python has another version, as with a jar of another installation. */
  public static void ensureVersion(int ofPython) {
    if (ofPython != VERSION)
      throw new IllegalStateException(
          "The gateway's jar has version "
              + VERSION
              + " of the schema between Python and Java, and its Python code version "
              + ofPython
              + ": install the gateway again.");
  }

  /** Returns the object; throws if a field is missing or unknown. */
  JsonNode check(JsonNode object) {
    for (String field : required) {
      if (!object.has(field)) throw new IllegalArgumentException(this + " has no field " + field);
    }
    object
        .fieldNames()
        .forEachRemaining(
            field -> {
              if (!required.contains(field) && !optional.contains(field))
                throw new IllegalArgumentException(this + " has an unknown field " + field);
            });
    return object;
  }

  /** Checks a callback, whose kind its fields determine. */
  static JsonNode checkCallback(JsonNode callback) {
    for (Schema schema : CALLBACKS) {
      if (schema.required.stream().allMatch(callback::has)) return schema.check(callback);
    }
    throw new IllegalArgumentException("unknown callback");
  }

  /** Returns the names of all fields by the name of their object, as JSON. */
  public static String toJson() throws JsonProcessingException {
    ObjectNode objects = StatementRequest.JSON.createObjectNode();
    for (Schema schema : values()) {
      var fields = objects.putArray(schema.name());
      schema.required.forEach(fields::add);
      schema.optional.forEach(fields::add);
    }
    return StatementRequest.JSON.writeValueAsString(objects);
  }
}
