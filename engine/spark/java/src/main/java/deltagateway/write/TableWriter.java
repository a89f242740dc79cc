package deltagateway.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.cache.PlanCache;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.TableRoot;
import deltagateway.scan.credentials.VendedCredentials;
import deltagateway.session.GatewaySession;
import deltagateway.session.StatementExecution;
import deltagateway.write.stats.NestedNullCounts;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileFormatWriter;
import org.apache.spark.sql.execution.datasources.FileFormatWriter$;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Writes the rows of a query as Parquet files into a table's folder, with Spark's own writer. */
public final class TableWriter {
  /**
   * Parquet leaves a column whose bounds are long without any statistics, its count of nulls
   * included.
   */
  private static final String BOUND_LENGTH = "parquet.statistics.truncate.length";

  /** More than what statistics in a log keep of a string (32 characters) can take. */
  private static final int BOUND_BYTES_MAX = 256;

  /** More than so little as one task reads becomes. */
  private static final long ONE_TASK_FILE = 32L << 20;

  private final SparkSession spark;
  private final GatewaySession session;
  private final TableRoot root;
  private final String folder;
  private final String lease;
  private final List<String> partitionColumns = new ArrayList<>();
  private final JsonNode rules;
  private final Map<String, String> options = new HashMap<>();

  /**
   * `target` has the folder, the names of the partition columns, in their order, the compression of
   * the files (null: Spark's) and what the table demands of its rows (null: nothing), see {@link
   * RowEnforcer}. The texts of partition values are those of UTC, whatever the session's zone is.
   */
  public TableWriter(GatewaySession session, JsonNode target) {
    this.session = session;
    this.spark = session.spark();
    this.root =
        new TableRoot(target.get("folder").textValue(), new String[0], new String[0], false);
    this.folder = root.path().toString();
    this.lease = target.get("lease").textValue();
    for (Iterator<JsonNode> names = target.get("partition_columns").elements(); names.hasNext(); ) {
      partitionColumns.add(names.next().textValue());
    }
    this.rules = target.get("rules");
    options.put("timeZone", "UTC");
    if (target.hasNonNull("compression"))
      options.put("compression", target.get("compression").textValue());
  }

  /** What {@link #write} takes: the query with what the table demands on top of it. */
  public QueryExecution enforced(QueryExecution query, PlanGuard guard, String statementId)
      throws Exception {
    if (rules.isNull()) return query;
    return new RowEnforcer(session, guard, statementId, rules, false).enforced(query);
  }

  /**
   * What {@link #enforced} may be kept by ({@link PlanCache}); null: it follows from more than the
   * request, from values of rows, say. {@link RowEnforcer} looks at sizes where nothing else says
   * how rows come to tasks.
   */
  public String key(StatementRequest request, String target) throws Exception {
    if (rules.isNull() || rules.hasNonNull("curve")) return null;
    for (Iterator<JsonNode> steps = rules.get("steps").elements(); steps.hasNext(); ) {
      JsonNode step = steps.next();
      if (step.get("counters").size() > 0) return null;
      for (Iterator<JsonNode> expressions = step.get("expressions").elements();
          expressions.hasNext(); ) {
        if (!PlanCache.isTimeless(expressions.next().get("text").textValue())) return null;
      }
    }
    boolean isSaid =
        rules.get("is_arranged").booleanValue() || rules.get("rebalanced").booleanValue();
    boolean isDivided = isSaid || rules.get("partition_columns").size() > 0;
    return PlanCache.writeKey(
        spark, request, target, isDivided && !rules.get("joins_tasks").booleanValue());
  }

  /**
   * What {@link #writeLiterals} takes; null where rows are no literals, or Spark cannot evaluate
   * them without a job.
   */
  public QueryExecution literals(
      QueryExecution query, StatementExecution statement, PlanGuard guard, String statementId)
      throws Exception {
    if (rules.isNull() || !rules.get("literals").booleanValue()) return null;
    if (!RowEnforcer.isLiteral(query.analyzed())) return null;
    QueryExecution enforced =
        new RowEnforcer(session, guard, statementId, rules, true).enforced(query);
    LogicalPlan plan = statement.atItsTime(enforced).analyzed();
    List partitions = partitionAttributes(ScalaConversions.list(plan.output()));
    QueryExecution literals =
        statement.planned(LiteralRowsWriter.withNullPartitions(plan, partitions));
    return LiteralRowsWriter.relation(literals.optimizedPlan()) == null ? null : literals;
  }

  /** As {@link #write}, without a job. */
  public String writeLiterals(QueryExecution literals) throws Exception {
    LogicalPlan rows = literals.optimizedPlan();
    InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    List output = ScalaConversions.list(rows.output());
    NestedNullCounts nulls = new NestedNullCounts(rowsOf(output));
    new LiteralRowsWriter(spark, options, configuration())
        .write(rows, partitionAttributes(output), committer, root.path(), trackers(nulls));
    return answer(committer, nulls);
  }

  /**
   * Whether rows that one task writes are in the files that they should be in: no curve, and none
   * of a small size.
   */
  public boolean mayBeOneTask() {
    if (rules.isNull() || rules.hasNonNull("curve") || rules.get("is_arranged").booleanValue())
      return false;
    return rules.get("file_bytes").longValue() >= ONE_TASK_FILE;
  }

  /**
   * JSON: an array of path (relative to the folder), partition, size, modification time and {@link
   * NestedNullCounts}.
   */
  public String write(QueryExecution execution) throws Exception {
    final SparkPlan plan = execution.executedPlan();
    final InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    final Configuration configuration = configuration();
    final NestedNullCounts nulls =
        new NestedNullCounts(rowsOf(ScalaConversions.list(plan.output())));
    SQLExecution$.MODULE$.withNewExecutionId(
        execution,
        ScalaConversions.none(),
        new scala.runtime.AbstractFunction0() {
          public Object apply() {
            boolean isPlain =
                rules.isNull() || rules.hasNonNull("curve") || rules.get("order").size() > 0;
            SparkPlan divided = isPlain ? plan : divided(plan, configuration);
            List attributes = partitionAttributes(ScalaConversions.list(divided.output()));
            return run(
                divided,
                committer,
                ScalaConversions.seq(attributes),
                trackers(nulls),
                configuration);
          }
        });
    return answer(committer, nulls);
  }

  private Configuration configuration() {
    Configuration configuration = spark.sessionState().newHadoopConf();
    configuration.setInt(BOUND_LENGTH, BOUND_BYTES_MAX);
    VendedCredentials.lend(configuration, lease, root.path(), spark.sparkContext());
    return configuration;
  }

  private static List trackers(NestedNullCounts nulls) {
    return nulls.isEmpty() ? new ArrayList<>() : Collections.singletonList(nulls);
  }

  private static String answer(InPlaceCommitProtocol committer, NestedNullCounts nulls)
      throws Exception {
    ArrayNode files = StatementRequest.JSON.createArrayNode();
    for (Iterator<InPlaceCommitProtocol.WrittenFile> written = committer.files().iterator();
        written.hasNext(); ) {
      InPlaceCommitProtocol.WrittenFile file = written.next();
      ArrayNode each =
          files
              .addArray()
              .add(file.path)
              .add(file.partition)
              .add(file.size)
              .add(file.modificationTime);
      nulls.addTo(each.addArray(), committer.path(file.path).toString());
    }
    return StatementRequest.JSON.writeValueAsString(files);
  }

  private SparkPlan divided(SparkPlan plan, final Configuration configuration) {
    try {
      int cores =
          rules.get("partition_columns").isEmpty() ? 1 : spark.sparkContext().defaultParallelism();
      return OutputFileSizes.divided(
          plan,
          rules.get("file_bytes").longValue(),
          cores,
          new OutputFileSizes.Trial() {
            public long[] measure(SparkPlan some) throws Exception {
              return tried(some, configuration);
            }
          });
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /**
   * The rows of a plan, and their bytes in pages and in dictionaries, for which they are written
   * and removed.
   */
  private long[] tried(SparkPlan plan, Configuration configuration) throws Exception {
    InPlaceCommitProtocol committer = new InPlaceCommitProtocol(root);
    long[] found = new long[3];
    run(plan, committer, ScalaConversions.seq(new ArrayList<>()), new ArrayList<>(), configuration);
    try {
      for (Iterator<InPlaceCommitProtocol.WrittenFile> written = committer.files().iterator();
          written.hasNext(); ) {
        Path path = committer.path(written.next().path);
        ParquetFileReader reader =
            ParquetFileReader.open(HadoopInputFile.fromPath(path, configuration));
        try {
          found[0] += reader.getRecordCount();
          for (Iterator<BlockMetaData> groups = reader.getFooter().getBlocks().iterator();
              groups.hasNext(); ) {
            for (Iterator<ColumnChunkMetaData> chunks = groups.next().getColumns().iterator();
                chunks.hasNext(); ) {
              ColumnChunkMetaData chunk = chunks.next();
              long dictionary =
                  chunk.hasDictionaryPage()
                      ? chunk.getFirstDataPageOffset() - chunk.getDictionaryPageOffset()
                      : 0L;
              found[1] += chunk.getTotalSize() - dictionary;
              found[2] += dictionary;
            }
          }
        } finally {
          reader.close();
        }
      }
    } finally {
      committer.deleteAll(configuration);
    }
    return found;
  }

  private Object run(
      SparkPlan plan,
      InPlaceCommitProtocol committer,
      scala.collection.immutable.Seq<Attribute> partitionAttributes,
      List trackers,
      Configuration configuration) {
    return FileFormatWriter$.MODULE$.write(
        spark,
        plan,
        new FieldIdParquetFormat(),
        committer,
        new FileFormatWriter.OutputSpec(folder, ScalaConversions.emptyMap(), plan.output()),
        configuration,
        partitionAttributes,
        ScalaConversions.none(),
        ScalaConversions.seq(trackers),
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options)),
        0,
        FileFormatWriter$.MODULE$.write$default$12());
  }

  /** What a file has of a plan's columns. */
  private StructType rowsOf(List<Attribute> output) {
    StructType columns = new StructType();
    for (int i = 0; i < output.size(); i++) {
      Attribute column = output.get(i);
      if (!partitionColumns.contains(column.name()))
        columns = columns.add(column.name(), column.dataType());
    }
    return columns;
  }

  private List partitionAttributes(List<Attribute> output) {
    List<Attribute> attributes = new ArrayList<>();
    for (int i = 0; i < partitionColumns.size(); i++) {
      for (int j = 0; j < output.size(); j++) {
        if (output.get(j).name().equals(partitionColumns.get(i))) attributes.add(output.get(j));
      }
    }
    if (attributes.size() != partitionColumns.size()) {
      throw new IllegalArgumentException("partition columns " + partitionColumns + " of " + output);
    }
    return attributes;
  }
}
