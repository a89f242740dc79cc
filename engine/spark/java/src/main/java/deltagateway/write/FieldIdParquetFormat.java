package deltagateway.write;

import org.apache.hadoop.mapreduce.Job;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;

/**
 * Parquet with the ids of elements, keys and values, which Spark leaves out, see {@link
 * FieldIdWriteSupport}.
 */
public final class FieldIdParquetFormat extends ParquetFileFormat {
  public OutputWriterFactory prepareWrite(
      SparkSession spark,
      Job job,
      scala.collection.immutable.Map<String, String> options,
      StructType schema) {
    OutputWriterFactory factory = super.prepareWrite(spark, job, options, schema);
    ParquetOutputFormat.setWriteSupportClass(job, FieldIdWriteSupport.class);
    return factory;
  }
}
