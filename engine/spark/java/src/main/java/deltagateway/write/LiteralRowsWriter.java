package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import deltagateway.session.GatewaySession;
import java.util.ArrayList;
import java.util.Collections;
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
import org.apache.spark.sql.catalyst.expressions.Expression;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes rows that the optimizer has evaluated, those of literals: what the task of a job would do
 * is done on the statement's own thread. A job that writes one row takes three quarters of an
 * INSERT.
 *
 * <p>The task is Spark's own (FileFormatWriter.executeTask), and the writer the one of all other
 * writes. So the files are the same: schema, order, statistics, codec, folders of partitions.
 */
public final class LiteralRowsWriter {
  private final SparkSession spark;
  private final Map options;
  private final Configuration configuration;

  /** `options` are those of the write. */
  LiteralRowsWriter(SparkSession spark, Map<String, String> options, Configuration configuration) {
    this.spark = spark;
    this.options = options;
    this.configuration = configuration;
  }

  /**
   * The plan whose optimized form {@link #relation} looks at: texts of partitions are never empty.
   */
  static LogicalPlan withNullPartitions(LogicalPlan plan, List partitionColumns) {
    scala.collection.immutable.Seq keys = ScalaConversions.seq(partitionColumns);
    scala.collection.immutable.Seq<NamedExpression> columns =
        V1WritesUtils$.MODULE$.convertEmptyToNull(plan.output(), keys);
    return columns.isEmpty() ? plan : new Project(columns, plan);
  }

  /** The rows of an optimized plan; null where it has to run. */
  static LocalRelation relation(LogicalPlan optimized) {
    LogicalPlan rows = optimized instanceof Sort ? ((Sort) optimized).child() : optimized;
    return rows instanceof LocalRelation ? (LocalRelation) rows : null;
  }

  /**
   * Writes the rows of such a plan; `partitionColumns` are attributes of it, `trackers` count rows
   * as in a job. Without rows there is no file.
   */
  void write(
      LogicalPlan optimized,
      List<Attribute> partitionColumns,
      InPlaceCommitProtocol committer,
      Path folder,
      List<WriteJobStatsTracker> trackers)
      throws Exception {
    LocalRelation relation = relation(optimized);
    List<InternalRow> rows =
        new ArrayList<>(ScalaConversions.list((scala.collection.Seq<InternalRow>) relation.data()));
    if (rows.isEmpty()) return;
    if (rows.size() > 1) Collections.sort(rows, ordering(optimized, partitionColumns));
    Job job = Job.getInstance(configuration);
    job.setOutputKeyClass(Void.class);
    job.setOutputValueClass(InternalRow.class);
    FileOutputFormat.setOutputPath(job, folder);
    scala.collection.immutable.Map<String, String> plain =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options));
    DataSourceUtils$.MODULE$.mergeWriteOptionsIntoHadoopConf(plain, job.getConfiguration());
    WriteJobDescription description =
        description(job, relation, partitionColumns, folder.toString(), trackers);
    job.getConfiguration().set("spark.sql.sources.writeJobUUID", description.uuid());
    committer.setupJob(job);
    try {
      String tracker = SparkHadoopWriterUtils$.MODULE$.createJobTrackerID(new Date());
      WriteTaskResult result =
          FileFormatWriter$.MODULE$.executeTask(
              description,
              tracker,
              0,
              0,
              0,
              committer,
              CollectionConverters.asScala(new Live(rows.iterator())),
              ScalaConversions.none());
      committer.onTaskCommit(result.commitMsg());
      FileFormatWriter$.MODULE$.processStats(
          description.statsTrackers(),
          ScalaConversions.seq(Collections.singletonList(result.summary().stats())),
          0L);
      committer.commitJob(job, ScalaConversions.seq(Collections.singletonList(result.commitMsg())));
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
    List<Attribute> columns = ScalaConversions.list(relation.output());
    List<Attribute> dataColumns = new ArrayList<>(columns);
    dataColumns.removeAll(partitionColumns);
    StructType schema = DataTypeUtils$.MODULE$.fromAttributes(ScalaConversions.seq(dataColumns));
    FieldIdParquetFormat parquet = new FieldIdParquetFormat();
    DataSourceUtils$.MODULE$.verifySchema(
        parquet, schema, DataSourceUtils$.MODULE$.verifySchema$default$3());
    DataSourceUtils$.MODULE$.checkFieldNames(parquet, schema);
    OutputWriterFactory factory =
        parquet.prepareWrite(
            spark,
            job,
            CaseInsensitiveMap$.MODULE$.apply(
                scala.collection.immutable.Map$.MODULE$.from(
                    CollectionConverters.asScala(options))),
            schema);
    return new WriteJobDescription(
        UUID.randomUUID().toString(),
        new SerializableConfiguration(job.getConfiguration()),
        factory,
        ScalaConversions.seq(columns),
        ScalaConversions.seq(dataColumns),
        ScalaConversions.seq(partitionColumns),
        ScalaConversions.none(),
        folder,
        ScalaConversions.emptyMap(),
        spark.sessionState().conf().maxRecordsPerFile(),
        (String) options.get("timeZone"),
        ScalaConversions.seq(trackers));
  }

  /** The rows of each partition are together, and in the order of the table if it has one. */
  private static InterpretedOrdering ordering(
      LogicalPlan optimized, List<Attribute> partitionColumns) {
    List<SortOrder> orders = new ArrayList<>();
    for (int i = 0; i < partitionColumns.size(); i++) {
      Expression column = (Expression) partitionColumns.get(i);
      orders.add(
          SortOrder$.MODULE$.apply(
              column, Ascending$.MODULE$, ScalaConversions.seq(new ArrayList<>())));
    }
    if (optimized instanceof Sort)
      orders.addAll(
          ScalaConversions.list((scala.collection.Seq<SortOrder>) ((Sort) optimized).order()));
    return new InterpretedOrdering(ScalaConversions.seq(orders), optimized.output());
  }

  /** Rows until the statement is cancelled. */
  private static final class Live implements Iterator {
    private final Iterator<InternalRow> rows;

    Live(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    public boolean hasNext() {
      return rows.hasNext();
    }

    public Object next() {
      GatewaySession.ensureCurrentLive();
      return rows.next();
    }

    public void remove() {
      throw new UnsupportedOperationException();
    }
  }
}
