package deltagateway.protocol;

import static java.util.function.Function.identity;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.analysis.SessionVariables;
import deltagateway.internals.ScalaConversions;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import deltagateway.session.StepTimings;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Request of one statement: one JSON text ({@link Schema#STATEMENT}), so that it takes one call.
 */
public final class StatementRequest {
  /** Characters of a text, as of a DataFrame of 32 MB in base64. */
  private static final int TEXT_MAX = 64 << 20;

  public static final ObjectMapper JSON =
      new ObjectMapper(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder().maxStringLength(TEXT_MAX).build())
              .build());

  /** Fields that differ between requests of the same meaning. */
  private static final List<String> RUN_FIELDS =
      List.of(
          "id",
          "instant_us",
          "spool",
          "result_bytes_max",
          "rows_wanted",
          "bytes_wanted",
          "pool",
          "announces_rows",
          "reports_lineage");

  public final StepTimings steps = new StepTimings();
  public final String id;
  public final String principal;
  public final long instantMicros;
  public final String text;
  public final Scan[] scans;
  public final View[] views;

  /** Relations in bodies of functions that the reader may not read directly. */
  private final Set<String> hiddenRelations;

  /** Relations of {@link PythonRowsRelation}. */
  public final JsonNode given;

  public final JsonNode parameters;
  public final SessionVariables variables;

  /** Name of the calls of functions that have other settings ({@link FunctionBodies}). */
  public final String bodyCall;

  public final String spoolPath;
  public final long resultBytesMax;

  /** Number of rows, and of bytes, after which the query may stop. */
  public final long rowsWanted;

  public final long bytesWanted;

  /** True if the first rows are announced while others are computed. */
  public final boolean announcesRows;

  /** Scheduler pool of the statement's jobs; null: Spark's default pool. */
  public final String pool;

  public final boolean reportsLineage;

  /** The request without the fields of one run: requests of the same meaning have the same plan. */
  public final String meaning;

  private final JsonNode meaningFields;

  public StatementRequest(String json) throws JsonProcessingException {
    JsonNode node = Schema.STATEMENT.check(JSON.readTree(json));
    id = node.get("id").textValue();
    principal = node.get("principal").textValue();
    instantMicros = node.get("instant_us").longValue();
    text = node.get("text").textValue();
    parameters = node.get("parameters");
    parameters.forEach(Schema.PARAMETER::check);
    variables = new SessionVariables(node.get("variables"));
    bodyCall = node.get("body_call").textValue();
    spoolPath = node.get("spool").textValue();
    resultBytesMax = node.get("result_bytes_max").longValue();
    rowsWanted = node.get("rows_wanted").asLong(Long.MAX_VALUE);
    bytesWanted = node.get("bytes_wanted").asLong(Long.MAX_VALUE);
    pool = node.get("pool").textValue();
    announcesRows = node.get("announces_rows").booleanValue();
    reportsLineage = node.get("reports_lineage").booleanValue();
    scans = items(node.get("scans")).map(Scan::new).toArray(Scan[]::new);
    views = items(node.get("views")).map(View::new).toArray(View[]::new);
    given = node.get("given");
    for (JsonNode rows : given) {
      Schema.PYTHON_ROWS.check(rows);
      if (rows.hasNonNull("spooled")) Schema.SPOOLED_ROWS.check(rows.get("spooled"));
    }
    hiddenRelations = textSet(node.get("hidden_relations"));
    ((ObjectNode) node).remove(RUN_FIELDS);
    meaning = node.toString();
    meaningFields = node;
  }

  /** Returns the part of the meaning that determines the columns: without sizes of tables. */
  public String shape() {
    JsonNode shape = meaningFields.deepCopy();
    for (JsonNode scan : shape.get("scans")) ((ObjectNode) scan).remove("bytes");
    return shape.toString();
  }

  private static Stream<JsonNode> items(JsonNode array) {
    return IntStream.range(0, array.size()).mapToObj(array::get);
  }

  private static String[] texts(JsonNode array) {
    return items(array).map(JsonNode::textValue).toArray(String[]::new);
  }

  private static Set<String> textSet(JsonNode array) {
    return Set.copyOf(Arrays.asList(texts(array)));
  }

  /** Returns the fields of an object whose values are texts. */
  private static Map<String, String> textsByName(JsonNode object) {
    Map<String, String> texts = new HashMap<>();
    object.fieldNames().forEachRemaining(name -> texts.put(name, object.get(name).textValue()));
    return texts;
  }

  /** Returns an array of pairs of texts as a map. */
  public static Map<String, String> pairs(JsonNode array) {
    Map<String, String> pairs = new HashMap<>();
    for (JsonNode pair : array) pairs.put(pair.get(0).textValue(), pair.get(1).textValue());
    return pairs;
  }

  public boolean hasBarrier() {
    return Arrays.stream(views).anyMatch(view -> view.isBarrier);
  }

  public boolean hasHidden() {
    return Arrays.stream(views).anyMatch(view -> view.isHidden);
  }

  public boolean isHiddenRelation(String name) {
    return hiddenRelations.contains(name);
  }

  public String givenName(int number) {
    return given.get(number).get("relation").textValue();
  }

  /** Returns the names of all relations in lower case. */
  public Set<String> relations() {
    return Stream.of(
            Arrays.stream(scans).map(scan -> scan.relation),
            Arrays.stream(views).map(view -> view.relation),
            items(given).map(rows -> rows.get("relation").textValue()))
        .flatMap(identity())
        .map(name -> name.toLowerCase(Locale.ROOT))
        .collect(Collectors.toSet());
  }

  /**
   * Scan of a table: its name in the text, its root and the other roots of its files, its columns,
   * those of its files (of the same shape), and the columns that are constants in a file. Scans of
   * the same `source` have the same files, of `bytes` in total. `format` is null for the files of a
   * table.
   */
  public static final class Scan {
    /** Key in the metadata of a column that is read to compute another one. */
    public static final String READ = "gateway.read";

    public final String relation;

    /** Name of the hidden column `_metadata`. */
    public final String metadata;

    public final String root;

    /** Path in a volume that is displayed in place of `root`; empty for files elsewhere. */
    private final String shownRoot;

    /** Constants that are paths of files. */
    public final Set<String> pathColumns;

    private final String[] allowedRoots;
    private final String[] excludedRoots;
    private final boolean acceptsHardLinks;

    /** Id of vended credentials for its files, or null. */
    public final String lease;

    public final int source;

    /** True if the reader must not learn which of its files a filter selects. */
    public final boolean hidden;

    public final long bytes;
    public final StructType schema;

    /** Columns as they are read, from which {@link #shown} computes those of `schema`. */
    public final StructType read;

    /** SQL of the columns that are computed, by their names. */
    public final Map<String, String> shown;

    public final StructType physical;
    public final boolean byId;

    /** Name of the constant with vectors of deleted rows; null if no file has one. */
    public final String deletionVectors;

    /** Name of the constant with vectors of the only rows to read; null if no file has one. */
    public final String selectedRows;

    /** Name of the constant with vectors of rows to distinguish; null if no file has one. */
    public final String toldRows;

    /** Null if the table has no row tracking or the statement reads no row ids. */
    public final RowTracking rowTracking;

    public final OtherFormat format;
    public final StructType constants;

    public Scan(JsonNode node) {
      Schema.SCAN.check(node);
      relation = node.get("relation").textValue();
      metadata = node.get("metadata").textValue();
      root = node.get("root").textValue();
      shownRoot = node.get("shown_root").textValue();
      pathColumns = textSet(node.get("path_columns"));
      allowedRoots = texts(node.get("allowed_roots"));
      excludedRoots = texts(node.get("excluded_roots"));
      acceptsHardLinks = node.get("accepts_hard_links").booleanValue();
      lease = node.get("lease").textValue();
      source = node.get("source").intValue();
      hidden = node.get("hidden").booleanValue();
      bytes = node.get("bytes").longValue();
      schema = columns(node.get("schema"));
      shown = textsByName(node.get("shown"));
      read = shown.isEmpty() ? schema : markRead(columns(node.get("read")));
      physical = columns(node.get("physical"));
      byId = node.get("by_id").booleanValue();
      JsonNode vectors = node.get("vectors");
      deletionVectors = vectors.path("deletion_vector").textValue();
      selectedRows = vectors.path("selected_rows").textValue();
      toldRows = vectors.path("told_rows").textValue();
      JsonNode tracking = node.get("row_tracking");
      rowTracking = tracking.isNull() ? null : new RowTracking(tracking);
      format = node.get("format").isNull() ? null : new OtherFormat(node.get("format"));
      StructType fields = new StructType();
      for (String name : texts(node.get("partition_columns")))
        fields = fields.add(schema.apply(name));
      for (String name : new String[] {deletionVectors, selectedRows, toldRows})
        if (name != null) fields = fields.add(name, StringType$.MODULE$);
      constants = rowTracking == null ? fields : rowTracking.addTo(fields);
    }

    public TableRoot tableRoot() {
      return new TableRoot(root, allowedRoots, excludedRoots, acceptsHardLinks);
    }

    public VolumePaths volumePlaces() {
      return shownRoot.isEmpty() ? null : new VolumePaths(root, shownRoot);
    }

    public boolean dropsRows() {
      return deletionVectors != null || selectedRows != null;
    }

    private static StructType columns(JsonNode json) {
      return ((StructType) DataType$.MODULE$.fromJson(json.textValue())).asNullable();
    }

    /**
     * Marks the columns that are read to compute others: a computed column may have the same name
     * and type.
     */
    private StructType markRead(StructType columns) {
      Metadata mark = new MetadataBuilder().putBoolean(READ, true).build();
      StructType marked = new StructType();
      for (StructField field : columns.fields()) {
        boolean isMarked = shown.containsKey(field.name());
        marked =
            marked.add(
                isMarked ? new StructField(field.name(), field.dataType(), true, mark) : field);
      }
      return marked;
    }
  }

  /**
   * Format of files that belong to no table; `infers` is true if Spark infers their columns from
   * them.
   */
  public static final class OtherFormat {
    public final String kind;
    public final scala.collection.immutable.Map<String, String> options;
    public final boolean infers;

    OtherFormat(JsonNode node) {
      Schema.FORMAT.check(node);
      kind = node.get("kind").textValue();
      infers = node.get("infers").booleanValue();
      options = ScalaConversions.map(textsByName(node.get("options")));
    }
  }

  /**
   * Names of two more constants, and of the columns in which files may store the ids and versions
   * of rows that were copied from other files (Delta protocol, Row Tracking).
   */
  public static final class RowTracking {
    public final String baseRowId;
    public final String commitVersion;
    public final String rowIdColumn;
    public final String commitVersionColumn;

    /** Field ids of these columns in files, or null. */
    public final long[] fieldIds;

    RowTracking(JsonNode node) {
      Schema.ROW_TRACKING.check(node);
      baseRowId = node.get("base_row_id").textValue();
      commitVersion = node.get("default_row_commit_version").textValue();
      rowIdColumn = node.get("row_id_column").textValue();
      commitVersionColumn = node.get("row_commit_version_column").textValue();
      JsonNode ids = node.get("field_ids");
      fieldIds = ids.isNull() ? null : items(ids).mapToLong(JsonNode::longValue).toArray();
    }

    private StructType addTo(StructType constants) {
      return constants.add(baseRowId, LongType$.MODULE$).add(commitVersion, LongType$.MODULE$);
    }
  }

  /**
   * View of the statement: its name in the text, its query, and the names of the query's columns.
   * Only temporary views may read variables. Expressions above a barrier are evaluated on rows of
   * the view alone, and so are expressions that may fail above a hidden view.
   */
  public static final class View {
    public final String relation;
    public final String label;
    public final String text;
    public final boolean isTemporary;
    public final boolean isBarrier;
    public final boolean isHidden;
    public final boolean hidesFilePaths;

    /** Spark settings of its analysis, in addition to the server's; null: the session's own. */
    public final Map<String, String> settings;

    /** Columns of its query that `*` does not include. */
    public final Set<String> unlistedColumns;

    /**
     * Columns of its query, with the names that the view gives to them and their recorded types.
     */
    public final List<Column> columns;

    /** Mode of Spark's `WITH SCHEMA`. */
    public final String schemaMode;

    /** Values for markers in its query. */
    public final JsonNode parameters;

    /** DataFrame that it is instead of a query; null if it has a query. */
    public final Frame frame;

    View(JsonNode node) {
      Schema.VIEW.check(node);
      relation = node.get("relation").textValue();
      label = node.get("label").textValue();
      text = node.get("text").textValue();
      isTemporary = node.get("temporary").booleanValue();
      isBarrier = node.get("is_barrier").booleanValue();
      isHidden = node.get("is_hidden").booleanValue();
      hidesFilePaths = node.get("hides_places").booleanValue();
      settings = node.get("settings").isNull() ? null : pairs(node.get("settings"));
      unlistedColumns = textSet(node.get("unlisted_columns"));
      columns = items(node.get("columns")).map(View::column).toList();
      schemaMode = node.get("schema_mode").textValue();
      parameters = node.get("parameters");
      parameters.forEach(Schema.PARAMETER::check);
      frame = node.get("frame").isNull() ? null : Frame.of(node.get("frame"));
    }

    private static Column column(JsonNode parts) {
      return new Column(
          parts.get(0).textValue(), parts.get(1).textValue(), parts.get(2).textValue());
    }

    public record Column(String source, String name, String type) {}
  }

  /**
   * DataFrame over relations of the statement: a relation of Spark Connect in base64, and its named
   * tables by their names.
   */
  public record Frame(String plan, Map<String, FrameInput> inputs) {
    static Frame of(JsonNode node) {
      Schema.FRAME.check(node);
      Map<String, FrameInput> inputs = new HashMap<>();
      for (JsonNode input : node.get("inputs")) {
        Schema.FRAME_INPUT.check(input);
        List<String> alias = List.of(texts(input.get("alias")));
        inputs.put(
            input.get("name").textValue(),
            new FrameInput(input.get("relation").textValue(), alias));
      }
      return new Frame(node.get("plan").textValue(), inputs);
    }
  }

  /** Relation of a named table; its alias begins with the catalog, and may be empty. */
  public record FrameInput(String relation, List<String> alias) {}
}
