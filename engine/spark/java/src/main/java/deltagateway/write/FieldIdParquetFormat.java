package deltagateway.write;

import org.apache.hadoop.mapreduce.Job;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/**
 * Writes Parquet with the field ids of elements, keys and values, which Spark leaves out ({@link
 * FieldIdWriteSupport}).
 */
final class FieldIdParquetFormat extends ParquetFileFormat {
  private static final long serialVersionUID = 1;

  @Override
  public OutputWriterFactory prepareWrite(
      SparkSession spark, Job job, Map<String, String> options, StructType schema) {
    OutputWriterFactory factory = super.prepareWrite(spark, job, options, schema);
    ParquetOutputFormat.setWriteSupportClass(job, FieldIdWriteSupport.class);
    return factory;
  }
}
