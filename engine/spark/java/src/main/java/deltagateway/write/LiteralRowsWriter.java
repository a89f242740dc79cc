package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import deltagateway.session.GatewaySession;
import java.util.ArrayList;
import java.util.Date;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.spark.internal.io.SparkHadoopWriterUtils$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SortOrder$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.datasources.FileFormatWriter$;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.V1WritesUtils$;
import org.apache.spark.sql.execution.datasources.WriteJobDescription;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskResult;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes rows of literals, which the optimizer has evaluated, on the statement's own thread. A job
 * for one row takes three quarters of an INSERT.
 *
 * <p>The task is Spark's own (FileFormatWriter.executeTask), with the writer of all other writes.
 * So the files are the same: schema, order, statistics, codec, folders of partitions.
 */
public final class LiteralRowsWriter {
  private final SparkSession spark;
  private final Map<String, String> options;
  private final Configuration configuration;

  /** `options` are those of the write. */
  LiteralRowsWriter(SparkSession spark, Map<String, String> options, Configuration configuration) {
    this.spark = spark;
    this.options = options;
    this.configuration = configuration;
  }

  /** Returns the plan with null for empty strings in partition columns, as Spark writes them. */
  static LogicalPlan withNullPartitions(LogicalPlan plan, List<Attribute> partitionColumns) {
    Seq<NamedExpression> columns =
        V1WritesUtils$.MODULE$.convertEmptyToNull(
            plan.output(), ScalaConversions.seq(partitionColumns));
    return columns.isEmpty() ? plan : new Project(columns, plan);
  }

  /** Returns the rows of an optimized plan; null if it has to run. */
  static LocalRelation relation(LogicalPlan optimized) {
    LogicalPlan rows = optimized instanceof Sort sort ? sort.child() : optimized;
    return rows instanceof LocalRelation relation ? relation : null;
  }

  /**
   * Writes the rows of such a plan, without a file if there are none. `partitionColumns` are
   * attributes of the plan, `trackers` count rows as in a job.
   */
  void write(
      LogicalPlan optimized,
      List<Attribute> partitionColumns,
      InPlaceCommitProtocol committer,
      Path folder,
      List<WriteJobStatsTracker> trackers)
      throws Exception {
    LocalRelation relation = relation(optimized);
    List<InternalRow> rows = new ArrayList<>(ScalaConversions.list(relation.data()));
    if (rows.isEmpty()) return;
    if (rows.size() > 1) rows.sort(ordering(optimized, partitionColumns));
    Job job = Job.getInstance(configuration);
    job.setOutputKeyClass(Void.class);
    job.setOutputValueClass(InternalRow.class);
    FileOutputFormat.setOutputPath(job, folder);
    DataSourceUtils$.MODULE$.mergeWriteOptionsIntoHadoopConf(
        ScalaConversions.map(options), job.getConfiguration());
    WriteJobDescription description =
        description(job, relation, partitionColumns, folder.toString(), trackers);
    job.getConfiguration().set("spark.sql.sources.writeJobUUID", description.uuid());
    committer.setupJob(job);
    try {
      WriteTaskResult result =
          FileFormatWriter$.MODULE$.executeTask(
              description,
              SparkHadoopWriterUtils$.MODULE$.createJobTrackerID(new Date()),
              0,
              0,
              0,
              committer,
              CollectionConverters.asScala(new CancellableRows(rows.iterator())),
              ScalaConversions.none());
      committer.onTaskCommit(result.commitMsg());
      FileFormatWriter$.MODULE$.processStats(
          description.statsTrackers(), ScalaConversions.seq(List.of(result.summary().stats())), 0L);
      committer.commitJob(job, ScalaConversions.seq(List.of(result.commitMsg())));
    } catch (Throwable failure) {
      committer.abortJob(job);
      throw failure;
    }
  }

  private WriteJobDescription description(
      Job job,
      LocalRelation relation,
      List<Attribute> partitionColumns,
      String folder,
      List<WriteJobStatsTracker> trackers) {
    List<Attribute> dataColumns = new ArrayList<>(ScalaConversions.list(relation.output()));
    dataColumns.removeAll(partitionColumns);
    StructType schema = DataTypeUtils$.MODULE$.fromAttributes(ScalaConversions.seq(dataColumns));
    FieldIdParquetFormat parquet = new FieldIdParquetFormat();
    DataSourceUtils$.MODULE$.verifySchema(
        parquet, schema, DataSourceUtils$.MODULE$.verifySchema$default$3());
    DataSourceUtils$.MODULE$.checkFieldNames(parquet, schema);
    OutputWriterFactory factory =
        parquet.prepareWrite(
            spark, job, CaseInsensitiveMap$.MODULE$.apply(ScalaConversions.map(options)), schema);
    return new WriteJobDescription(
        UUID.randomUUID().toString(),
        new SerializableConfiguration(job.getConfiguration()),
        factory,
        relation.output(),
        ScalaConversions.seq(dataColumns),
        ScalaConversions.seq(partitionColumns),
        ScalaConversions.none(),
        folder,
        ScalaConversions.emptyMap(),
        spark.sessionState().conf().maxRecordsPerFile(),
        options.get("timeZone"),
        ScalaConversions.seq(trackers));
  }

  /** Returns an order with the rows of each partition together, and the table's order, if any. */
  private static InterpretedOrdering ordering(
      LogicalPlan optimized, List<Attribute> partitionColumns) {
    List<SortOrder> orders = new ArrayList<>();
    for (Attribute column : partitionColumns)
      orders.add(
          SortOrder$.MODULE$.apply(
              column, Ascending$.MODULE$, SortOrder$.MODULE$.apply$default$3()));
    if (optimized instanceof Sort sort) orders.addAll(ScalaConversions.list(sort.order()));
    return new InterpretedOrdering(ScalaConversions.seq(orders), optimized.output());
  }

  /** Rows that end with an exception when the statement is cancelled. */
  private record CancellableRows(Iterator<InternalRow> rows) implements Iterator<InternalRow> {
    @Override
    public boolean hasNext() {
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      GatewaySession.ensureCurrentLive();
      return rows.next();
    }
  }
}
