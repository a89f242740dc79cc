package deltagateway.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.cache.PlanCache;
import deltagateway.connect.ObservedMetrics;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.TableRoot;
import deltagateway.scan.credentials.VendedCredentials;
import deltagateway.session.GatewaySession;
import deltagateway.session.StatementExecution;
import deltagateway.session.SubqueryFailures;
import deltagateway.write.stats.NestedNullCounts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileFormatWriter;
import org.apache.spark.sql.execution.datasources.FileFormatWriter$;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** Writes the rows of a query as Parquet files into a table's folder, with Spark's own writer. */
public final class TableWriter {
  /**
   * Bytes of minimum and maximum values. Parquet writes no statistics at all, not even the null
   * count, for a column whose values are longer.
   */
  private static final String BOUND_LENGTH = "parquet.statistics.truncate.length";

  /** More than the 32 characters of a string that statistics in the log have can take. */
  private static final int BOUND_BYTES_MAX = 256;

  /** The file size from which the rows that one task reads are one file. */
  private static final long ONE_TASK_FILE_BYTES = 32L << 20;

  private final SparkSession spark;
  private final Function<Map<String, String>, SQLConf> creationSettings;
  private final TableRoot root;
  private final String folder;
  private final String lease;
  private final List<String> partitionColumns = new ArrayList<>();
  private final JsonNode rules;
  private final Map<String, String> options = new HashMap<>();

  /**
   * `target` has the folder, the names of the partition columns, in their order, the compression of
   * the files (null: Spark's) and what the table enforces (null: nothing), see {@link RowEnforcer}.
   * Partition values are serialized in UTC, whatever the session's time zone.
   */
  public TableWriter(GatewaySession session, JsonNode target) {
    this(session.spark(), session::ofServer, target);
  }

  TableWriter(
      SparkSession spark,
      Function<Map<String, String>, SQLConf> creationSettings,
      JsonNode target) {
    this.spark = spark;
    this.creationSettings = creationSettings;
    this.root =
        new TableRoot(target.get("folder").textValue(), new String[0], new String[0], false);
    this.folder = root.path().toString();
    this.lease = target.get("lease").textValue();
    for (JsonNode name : target.get("partition_columns")) partitionColumns.add(name.textValue());
    this.rules = target.get("rules");
    options.put("timeZone", "UTC");
    if (target.hasNonNull("compression"))
      options.put("compression", target.get("compression").textValue());
  }

  /** Returns the query with what the table enforces, for {@link #write}. */
  public QueryExecution enforced(QueryExecution query, PlanGuard guard, String statementId)
      throws Exception {
    if (rules.isNull()) return query;
    return enforcer(guard, statementId, false).enforced(query);
  }

  private RowEnforcer enforcer(PlanGuard guard, String statementId, boolean withoutJob) {
    return new RowEnforcer(spark, creationSettings, guard, statementId, rules, withoutJob);
  }

  /**
   * Returns the key of the result of {@link #enforced} in {@link PlanCache}; null if it depends on
   * more than the request, for example on values of rows. {@link RowEnforcer} uses sizes of tables
   * unless the request determines how rows are distributed to tasks.
   */
  public String key(StatementRequest request, String target) throws Exception {
    if (rules.isNull() || rules.hasNonNull("curve")) return null;
    for (JsonNode step : rules.get("steps")) {
      if (!step.get("counters").isEmpty()) return null;
    }
    boolean isDistributed =
        rules.get("is_arranged").booleanValue()
            || rules.get("rebalanced").booleanValue()
            || !rules.get("partition_columns").isEmpty();
    // Each statement has another token. Where an expression has it, the plan is the statement's
    // own.
    String token = Pattern.quote(rules.get("token").textValue());
    String described = target.replaceFirst("\"token\"\\s*:\\s*\"" + token + "\"", "");
    return PlanCache.writeKey(
        spark, request, described, isDistributed && !rules.get("joins_tasks").booleanValue());
  }

  /** A query of literals; `isTimeless` is false if expressions have the statement's time. */
  public record Literals(QueryExecution query, boolean isTimeless) {}

  /**
   * Returns the rows for {@link #writeLiterals}; null if they are no literals or Spark cannot
   * evaluate them without a job.
   */
  public Literals literals(
      QueryExecution query, StatementExecution statement, PlanGuard guard, String statementId)
      throws Exception {
    if (rules.isNull() || !rules.get("literals").booleanValue()) return null;
    if (!RowEnforcer.isLiteral(query.analyzed())) return null;
    QueryExecution enforced = enforcer(guard, statementId, true).enforced(query);
    QueryExecution timed = statement.atItsTime(enforced);
    LogicalPlan plan = timed.analyzed();
    List<Attribute> partitions = partitionAttributes(ScalaConversions.list(plan.output()));
    QueryExecution literals =
        statement.planned(LiteralRowsWriter.withNullPartitions(plan, partitions));
    if (LiteralRowsWriter.relation(literals.optimizedPlan()) == null) return null;
    return new Literals(literals, timed == enforced);
  }

  /**
   * Returns the key of the {@link LiteralPlan} of values: their types and nullability and all that
   * the table enforces. The numbers of identity columns and the token in errors belong to a
   * statement.
   */
  public String literalsKey(StatementRequest request, LiteralValues values) throws Exception {
    JsonNode shared = rules.deepCopy();
    for (JsonNode step : shared.get("steps")) {
      for (JsonNode counter : step.get("counters")) ((ObjectNode) counter).put("first", 0);
    }
    String token = ((ObjectNode) shared).remove("token").textValue();
    String texts = shared.toString().replace(token, "");
    return PlanCache.literalsKey(
        spark, request.principal, values.shape() + partitionColumns + texts);
  }

  /** Returns the request's values if they can be written by a {@link LiteralPlan}, else null. */
  public LiteralValues literalValues(StatementRequest request) {
    boolean isAlone =
        request.scans.length == 0 && request.views.length == 0 && request.given.isEmpty();
    if (!isAlone || rules.isNull() || !rules.get("literals").booleanValue()) return null;
    return LiteralValues.parse(request.text, request.parameters, spark.sessionState().conf());
  }

  /** Returns the plan for values like those of `literals`; null if there is none. */
  public LiteralPlan literalPlan(
      Literals literals, LiteralValues values, StatementExecution statement) {
    return literals.isTimeless()
        ? LiteralPlan.of(literals.query().analyzed(), values, statement)
        : null;
  }

  /**
   * Returns the rows of a plan for `values`; null if they cannot be evaluated: the plan of the
   * statement itself has the error.
   */
  public LogicalPlan evaluated(LiteralPlan plan, LiteralValues values) {
    Map<String, IdentityColumnValues> counters = new HashMap<>();
    for (JsonNode step : rules.get("steps")) {
      for (JsonNode counter : step.get("counters")) {
        String name = counter.get("name").textValue();
        long first = counter.get("first").longValue();
        counters.put(name, new IdentityColumnValues(name, first, counter.get("step").longValue()));
      }
    }
    try {
      return plan.evaluated(values, counters);
    } catch (Exception failure) {
      return null;
    }
  }

  /** Writes rows as {@link #write} does, without a job. */
  public String writeLiterals(LogicalPlan rows) throws Exception {
    InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    List<Attribute> output = ScalaConversions.list(rows.output());
    NestedNullCounts nulls = new NestedNullCounts(fileColumns(output));
    new LiteralRowsWriter(spark, options, configuration())
        .write(rows, partitionAttributes(output), committer, root.path(), trackers(nulls));
    return answer(committer, nulls);
  }

  /** Returns whether one task may write all rows: no curve orders them, and files are large. */
  public boolean mayBeOneTask() {
    return !rules.isNull()
        && !rules.hasNonNull("curve")
        && !rules.get("is_arranged").booleanValue()
        && rules.get("file_bytes").longValue() >= ONE_TASK_FILE_BYTES;
  }

  /**
   * Writes the rows. Returns JSON: an array of path (relative to the folder), partition, size,
   * modification time and {@link NestedNullCounts} of each file.
   */
  public String write(QueryExecution execution) throws Exception {
    SparkPlan plan = execution.executedPlan();
    InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    Configuration configuration = configuration();
    NestedNullCounts nulls =
        new NestedNullCounts(fileColumns(ScalaConversions.list(plan.output())));
    boolean isDivided =
        !rules.isNull()
            && !rules.hasNonNull("curve")
            && rules.get("order").isEmpty()
            && !ObservedMetrics.isIn(execution.analyzed()); // rows of a sample would count twice
    SubqueryFailures.execute(
        execution,
        () -> {
          SparkPlan divided = isDivided ? divided(plan, configuration) : plan;
          return run(
              divided,
              committer,
              partitionAttributes(ScalaConversions.list(divided.output())),
              trackers(nulls),
              configuration);
        });
    return answer(committer, nulls);
  }

  private Configuration configuration() {
    Configuration configuration = spark.sessionState().newHadoopConf();
    configuration.setInt(BOUND_LENGTH, BOUND_BYTES_MAX);
    VendedCredentials.lend(configuration, lease, root.path(), spark.sparkContext());
    return configuration;
  }

  private static List<WriteJobStatsTracker> trackers(NestedNullCounts nulls) {
    return nulls.isEmpty() ? List.of() : List.of(nulls);
  }

  private static String answer(InPlaceCommitProtocol committer, NestedNullCounts nulls)
      throws Exception {
    ArrayNode files = StatementRequest.JSON.createArrayNode();
    for (InPlaceCommitProtocol.WrittenFile file : committer.files()) {
      ArrayNode each =
          files
              .addArray()
              .add(file.path())
              .add(file.partition())
              .add(file.size())
              .add(file.modificationTime());
      nulls.addTo(each.addArray(), committer.path(file.path()).toString());
    }
    return StatementRequest.JSON.writeValueAsString(files);
  }

  private SparkPlan divided(SparkPlan plan, Configuration configuration) {
    int cores =
        rules.get("partition_columns").isEmpty() ? 1 : spark.sparkContext().defaultParallelism();
    try {
      return OutputFileSizes.divided(
          plan, rules.get("file_bytes").longValue(), cores, some -> sample(some, configuration));
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** Writes the rows of a plan, measures the files, and removes them. */
  private OutputFileSizes.Sample sample(SparkPlan plan, Configuration configuration)
      throws Exception {
    InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    run(plan, committer, List.of(), List.of(), configuration);
    long rows = 0;
    long pageBytes = 0;
    long dictionaryBytes = 0;
    try {
      for (InPlaceCommitProtocol.WrittenFile file : committer.files()) {
        HadoopInputFile input =
            HadoopInputFile.fromPath(committer.path(file.path()), configuration);
        try (ParquetFileReader reader = ParquetFileReader.open(input)) {
          rows += reader.getRecordCount();
          for (BlockMetaData group : reader.getFooter().getBlocks()) {
            for (ColumnChunkMetaData chunk : group.getColumns()) {
              long dictionary =
                  chunk.hasDictionaryPage()
                      ? chunk.getFirstDataPageOffset() - chunk.getDictionaryPageOffset()
                      : 0;
              pageBytes += chunk.getTotalSize() - dictionary;
              dictionaryBytes += dictionary;
            }
          }
        }
      }
    } finally {
      committer.deleteAll(configuration);
    }
    return new OutputFileSizes.Sample(rows, pageBytes, dictionaryBytes);
  }

  private Object run(
      SparkPlan plan,
      InPlaceCommitProtocol committer,
      List<Attribute> partitionAttributes,
      List<WriteJobStatsTracker> trackers,
      Configuration configuration) {
    return FileFormatWriter$.MODULE$.write(
        spark,
        plan,
        new FieldIdParquetFormat(),
        committer,
        new FileFormatWriter.OutputSpec(folder, ScalaConversions.emptyMap(), plan.output()),
        configuration,
        ScalaConversions.seq(partitionAttributes),
        ScalaConversions.none(),
        ScalaConversions.seq(trackers),
        ScalaConversions.map(options),
        0,
        FileFormatWriter$.MODULE$.write$default$12());
  }

  /** Returns the columns of a plan that are in the files. */
  private StructType fileColumns(List<Attribute> output) {
    StructType columns = new StructType();
    for (Attribute column : output) {
      if (!partitionColumns.contains(column.name()))
        columns = columns.add(column.name(), column.dataType());
    }
    return columns;
  }

  private List<Attribute> partitionAttributes(List<Attribute> output) {
    List<Attribute> attributes =
        partitionColumns.stream()
            .flatMap(name -> output.stream().filter(column -> column.name().equals(name)))
            .toList();
    if (attributes.size() != partitionColumns.size())
      throw new IllegalArgumentException("partition columns " + partitionColumns + " of " + output);
    return attributes;
  }
}
