package deltagateway.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.analysis.SessionVariables;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import deltagateway.session.StepTimings;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One statement as Python hands it over: everything in one JSON text, so that it takes one call.
 */
public final class StatementRequest {
  public static final ObjectMapper JSON = new ObjectMapper();
  private static final List<String> OF_ONE_RUN =
      Arrays.asList(
          "id",
          "instant_us",
          "spool",
          "result_bytes_max",
          "rows_wanted",
          "bytes_wanted",
          "pool",
          "announces_rows",
          "tells_lineage");

  public final StepTimings steps = new StepTimings();
  public final String id;
  public final String principal;
  public final long instantMicros;
  public final String text;
  public final Scan[] scans;
  public final View[] views;

  /** Relations in bodies of functions that the reader may not read directly. */
  private final Set<String> hiddenRelations;

  /** Rows that are in no files ({@link PythonRowsRelation}). */
  public final JsonNode given;

  public final JsonNode parameters;
  public final SessionVariables variables;

  /** The name of calls of functions that have other settings ({@link FunctionBodies}). */
  public final String bodyCall;

  public final String spoolPath;
  public final long resultBytesMax;

  /** The query may stop when its first rows are so many, or have more bytes than that. */
  public final long rowsWanted;

  public final long bytesWanted;

  /** Whether the first rows are announced while others are computed. */
  public final boolean announcesRows;

  /** What its tasks share Spark's time in; null: Spark's default pool. */
  public final String pool;

  /** Whether it is asked where its columns come from. */
  public final boolean tellsLineage;

  /**
   * All but what is of this run alone: requests of the same meaning have the same plan under the
   * same settings.
   */
  public final String meaning;

  private final JsonNode rest;

  public StatementRequest(String json) throws Exception {
    JsonNode node = JSON.readTree(json);
    id = node.get("id").textValue();
    principal = node.get("principal").textValue();
    instantMicros = node.get("instant_us").longValue();
    text = node.get("text").textValue();
    parameters = node.get("parameters");
    variables = new SessionVariables(node.get("variables"));
    bodyCall = node.get("body_call").textValue();
    spoolPath = node.get("spool").textValue();
    resultBytesMax = node.get("result_bytes_max").longValue();
    rowsWanted = node.get("rows_wanted").asLong(Long.MAX_VALUE);
    bytesWanted = node.get("bytes_wanted").asLong(Long.MAX_VALUE);
    pool = node.get("pool").textValue();
    announcesRows = node.get("announces_rows").booleanValue();
    tellsLineage = node.get("tells_lineage").booleanValue();
    JsonNode listed = node.get("scans");
    scans = new Scan[listed.size()];
    for (int i = 0; i < scans.length; i++) scans[i] = new Scan(listed.get(i));
    JsonNode stored = node.get("views");
    views = new View[stored.size()];
    for (int i = 0; i < views.length; i++) views[i] = new View(stored.get(i));
    given = node.get("given");
    hiddenRelations = new HashSet<>(Arrays.asList(texts(node.get("hidden_relations"))));
    ((ObjectNode) node).remove(OF_ONE_RUN);
    meaning = node.toString();
    rest = node;
  }

  /** Of its meaning what its columns follow from: not how large the tables are. */
  public String shape() {
    JsonNode shape = rest.deepCopy();
    for (Iterator<JsonNode> all = shape.get("scans").elements(); all.hasNext(); )
      ((ObjectNode) all.next()).remove("bytes");
    return shape.toString();
  }

  private static String[] texts(JsonNode list) {
    String[] found = new String[list.size()];
    for (int i = 0; i < found.length; i++) found[i] = list.get(i).textValue();
    return found;
  }

  public boolean hasBarrier() {
    for (int i = 0; i < views.length; i++) if (views[i].barrier) return true;
    return false;
  }

  public boolean hasHidden() {
    for (int i = 0; i < views.length; i++) if (views[i].hidden) return true;
    return false;
  }

  public boolean isHiddenRelation(String name) {
    return hiddenRelations.contains(name);
  }

  public String givenName(int number) {
    return given.get(number).get("relation").textValue();
  }

  public Set<String> relations() {
    Set<String> names = new HashSet<>();
    for (int i = 0; i < scans.length; i++) names.add(scans[i].relation.toLowerCase(Locale.ROOT));
    for (int i = 0; i < views.length; i++) names.add(views[i].relation.toLowerCase(Locale.ROOT));
    for (int i = 0; i < given.size(); i++) names.add(givenName(i).toLowerCase(Locale.ROOT));
    return names;
  }

  /**
   * A table of the statement: its name in the text, that of its hidden column, where it lies and
   * where its log may lead, its columns, those of its files (of the same shape), and which columns
   * are constants. `deletionVectors`, `selectedRows` and `toldRows` are the names of more
   * constants, of vectors whose rows are left out, alone are read, or are told from the others;
   * null where no file has one. Scans of the same `source` have the same files, of so many `bytes`.
   * `rowTracking` is null where row ids are not known or not asked for. `format` is null for the
   * files of a table.
   */
  public static final class Scan {
    /** In the metadata of a column as it is read, of which another one is made. */
    public static final String READ = "gateway.read";

    public final String relation;
    public final String metadata;
    public final String root;

    /** The path in a volume that is shown in place of `root`; empty for files elsewhere. */
    final String shownRoot;

    /** Constants that hold paths of files. */
    public final Set<String> pathColumns;

    final String[] allowedRoots;
    final String[] excludedRoots;
    final boolean acceptsHardLinks;

    /** Of credentials for its files alone, or null. */
    public final String lease;

    public final int source;

    /** Whether nothing may be seen of which of its files a filter leaves. */
    public final boolean hidden;

    public final long bytes;
    public final StructType schema;

    /** The columns as they are read, of which {@link #shown} makes those of `schema`. */
    public final StructType read;

    public final Map<String, String> shown;
    public final StructType physical;
    public final boolean byId;
    public final String deletionVectors;
    public final String selectedRows;
    public final String toldRows;
    public final RowTracking rowTracking;
    public final OtherFormat format;
    public final StructType constants;

    public Scan(JsonNode node) {
      relation = node.get("relation").textValue();
      metadata = node.get("metadata").textValue();
      root = node.get("root").textValue();
      shownRoot = node.get("shown_root").textValue();
      pathColumns = new HashSet<>(Arrays.asList(texts(node.get("path_columns"))));
      allowedRoots = texts(node.get("allowed_roots"));
      excludedRoots = texts(node.get("excluded_roots"));
      acceptsHardLinks = node.get("accepts_hard_links").booleanValue();
      lease = node.get("lease").textValue();
      source = node.get("source").intValue();
      hidden = node.get("hidden").booleanValue();
      bytes = node.get("bytes").longValue();
      schema = columns(node.get("schema"));
      shown = new HashMap<>();
      for (Iterator<String> names = node.get("shown").fieldNames(); names.hasNext(); ) {
        String name = names.next();
        shown.put(name, node.get("shown").get(name).textValue());
      }
      read = shown.isEmpty() ? schema : readColumns(columns(node.get("read")));
      physical = columns(node.get("physical"));
      byId = node.get("by_id").booleanValue();
      deletionVectors = vectors(node, "deletion_vector");
      selectedRows = vectors(node, "selected_rows");
      toldRows = vectors(node, "told_rows");
      rowTracking =
          node.get("row_tracking").isNull() ? null : new RowTracking(node.get("row_tracking"));
      format = node.get("format").isNull() ? null : new OtherFormat(node.get("format"));
      StructType constants = new StructType();
      for (Iterator<JsonNode> names = node.get("partition_columns").elements(); names.hasNext(); ) {
        constants = constants.add(schema.apply(names.next().textValue()));
      }
      if (deletionVectors != null) constants = constants.add(deletionVectors, StringType$.MODULE$);
      if (selectedRows != null) constants = constants.add(selectedRows, StringType$.MODULE$);
      if (toldRows != null) constants = constants.add(toldRows, StringType$.MODULE$);
      if (rowTracking != null) constants = rowTracking.addTo(constants);
      this.constants = constants;
    }

    private static String vectors(JsonNode node, String column) {
      JsonNode name = node.get("vectors").get(column);
      return name == null ? null : name.textValue();
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
     * What is shown may have the type of what is read, so that the type does not tell which of them
     * a column is.
     */
    private StructType readColumns(StructType columns) {
      StructType marked = new StructType();
      for (int i = 0; i < columns.length(); i++) {
        StructField field = columns.fields()[i];
        marked =
            marked.add(
                shown.containsKey(field.name())
                    ? new StructField(
                        field.name(),
                        field.dataType(),
                        true,
                        new MetadataBuilder().putBoolean(READ, true).build())
                    : field);
      }
      return marked;
    }
  }

  /**
   * How files that are no table's are read; `infers`: their columns are what Spark finds in them.
   */
  public static final class OtherFormat {
    public final String kind;
    public final scala.collection.immutable.Map<String, String> options;
    public final boolean infers;

    OtherFormat(JsonNode node) {
      kind = node.get("kind").textValue();
      infers = node.get("infers").booleanValue();
      Map<String, String> named = new HashMap<>();
      for (Iterator<Map.Entry<String, JsonNode>> fields = node.get("options").fields();
          fields.hasNext(); ) {
        Map.Entry<String, JsonNode> field = fields.next();
        named.put(field.getKey(), field.getValue().textValue());
      }
      options = scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(named));
    }
  }

  /**
   * Names of two more constants, and of the columns in which files may keep the ids and versions of
   * rows they took over.
   */
  public static final class RowTracking {
    public final String baseRowId;
    public final String commitVersion;
    public final String rowIdColumn;
    public final String commitVersionColumn;

    /** Of these columns in files, or null. */
    public final long[] fieldIds;

    RowTracking(JsonNode node) {
      baseRowId = node.get("base_row_id").textValue();
      commitVersion = node.get("default_row_commit_version").textValue();
      rowIdColumn = node.get("row_id_column").textValue();
      commitVersionColumn = node.get("row_commit_version_column").textValue();
      JsonNode ids = node.get("field_ids");
      fieldIds = ids.isNull() ? null : new long[] {item(ids, 0), item(ids, 1)};
    }

    private static long item(JsonNode list, int position) {
      return list.get(position).longValue();
    }

    private StructType addTo(StructType constants) {
      return constants.add(baseRowId, LongType$.MODULE$).add(commitVersion, LongType$.MODULE$);
    }
  }

  /** A list of pairs of texts. */
  public static Map<String, String> pairs(JsonNode list) {
    Map<String, String> found = new HashMap<>();
    for (int i = 0; i < list.size(); i++) {
      JsonNode pair = list.get(i);
      found.put(pair.get(0).textValue(), pair.get(1).textValue());
    }
    return found;
  }

  /**
   * A view of the statement: its name in the text, its query, and what the query's columns are
   * called. Only those of the session see its variables. Nothing of what is above a `barrier` is
   * evaluated below it; nor what may fail above a `hidden` one. `unlisted` are columns of its query
   * that `*` does not show.
   */
  public static final class View {
    public final String relation;
    public final String label;
    public final String text;
    public final boolean temporary;
    public final boolean barrier;
    public final boolean hidden;
    public final boolean hidesPlaces;

    /**
     * Spark's settings under which it is analyzed besides the server's; null: the session's own.
     */
    public final Map<String, String> settings;

    public final Set<String> unlisted = new HashSet<>();
    public final String[] sources;
    public final String[] names;

    View(JsonNode node) {
      relation = node.get("relation").textValue();
      label = node.get("label").textValue();
      text = node.get("text").textValue();
      temporary = node.get("temporary").booleanValue();
      barrier = node.get("is_barrier").booleanValue();
      hidden = node.get("is_hidden").booleanValue();
      hidesPlaces = node.get("hides_places").booleanValue();
      settings = node.get("settings").isNull() ? null : pairs(node.get("settings"));
      for (Iterator<JsonNode> names = node.get("unlisted_columns").elements(); names.hasNext(); ) {
        unlisted.add(names.next().textValue());
      }
      JsonNode columns = node.get("columns");
      sources = new String[columns.size()];
      names = new String[columns.size()];
      for (int i = 0; i < names.length; i++) {
        JsonNode column = columns.get(i);
        sources[i] = column.get(0).textValue();
        names[i] = column.get(1).textValue();
      }
    }
  }
}
