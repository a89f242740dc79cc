package deltagateway;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The rows of one table as Spark plans them: the listed files read by {@link TableFileFormat}, without the deleted rows.
 *
 * All columns stand in the data schema, so that Spark keeps the table's order; constants win over a file's columns. What
 * only the scan needs (a row's index, a file's deletion vector) is projected away again.
 */
final class TableScan {
  private final SparkSession spark;
  private final Request.Scan scan;

  TableScan(SparkSession spark, Request.Scan scan) {
    this.spark = spark;
    this.scan = scan;
  }

  Dataset rows(FileIndex files) {
    StructType columns = scan.schema;
    if (scan.hasVectors()) {
      columns = columns.add(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME(), LongType$.MODULE$);
    }
    TableFileFormat format = new TableFileFormat(new PhysicalColumns(scan.schema, scan.physical), scan.byId);
    HadoopFsRelation relation =
        new HadoopFsRelation(files, scan.constants, columns, Scala.none(), format, Scala.emptyMap(), spark);
    Dataset rows = spark.baseRelationToDataFrame(relation);
    if (!scan.hasVectors()) return rows;
    return Dataset$.MODULE$.ofRows(spark, live(rows.queryExecution().analyzed()));
  }

  private LogicalPlan live(LogicalPlan plan) {
    List output = Scala.list(plan.output());
    Broadcast conf =
        SerializableConfiguration.broadcast(spark.sparkContext(), spark.sessionState().newHadoopConf());
    Attribute rowIndex = named(output, ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME());
    List shown = new ArrayList(output);
    shown.remove(rowIndex);
    if (scan.deletionVectors != null) {
      Attribute vector = named(output, scan.deletionVectors);
      plan = new Filter(new LiveRows(scan.root, conf, false).condition(vector, rowIndex), plan);
      shown.remove(vector);
    }
    if (scan.selectedRows != null) {
      Attribute vector = named(output, scan.selectedRows);
      plan = new Filter(new LiveRows(scan.root, conf, true).condition(vector, rowIndex), plan);
      shown.remove(vector);
    }
    return new Project(Scala.seq(shown), plan);
  }

  private static Attribute named(List output, String name) {
    for (int i = output.size() - 1; i >= 0; i--) {
      if (((Attribute) output.get(i)).name().equals(name)) return (Attribute) output.get(i);
    }
    throw new IllegalArgumentException(name + " is no column of the scan");
  }
}
