package deltagateway.scan.formats;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.TypeTexts;
import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.parquet.hadoop.Footer;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.spark.SparkIllegalArgumentException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.SchemaMergeUtils$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction4;

/**
 * Columns of Parquet files, merged from all of them: a column that only some have is not dropped.
 *
 * <p>Files that Spark wrote have its schema as JSON too. Unlike Spark, this class uses only {@link
 * TypeTexts#stored} of it: whoever wrote the file chose the text.
 */
final class ParquetSchemaInference
    extends AbstractFunction4<Seq<FileStatus>, Configuration, Object, Object, Seq<StructType>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  /** The session's settings; an SQLConf itself has lost its reader when it is deserialized. */
  private final HashMap<String, String> settings;

  private ParquetSchemaInference(SQLConf settings) {
    this.settings = new HashMap<>(CollectionConverters.asJava(settings.getAllConfs()));
  }

  static Option<StructType> columns(
      SparkSession spark, Map<String, String> options, Seq<FileStatus> files) {
    return SchemaMergeUtils$.MODULE$.mergeSchemasInParallel(
        spark, options, files, new ParquetSchemaInference(spark.sessionState().conf()));
  }

  @Override
  public Seq<StructType> apply(
      Seq<FileStatus> files, Configuration conf, Object ignoreCorrupt, Object ignoreMissing) {
    Seq<Footer> footers =
        ParquetFileFormat$.MODULE$.readParquetFootersInParallel(
            conf, files, (Boolean) ignoreCorrupt, (Boolean) ignoreMissing);
    SQLConf ofSession = new SQLConf();
    settings.forEach(ofSession::setConfString);
    ParquetToSparkSchemaConverter converter = new ParquetToSparkSchemaConverter(ofSession);
    return ScalaConversions.seq(
        ScalaConversions.list(footers).stream()
            .map(footer -> columns(footer.getParquetMetadata().getFileMetaData(), converter))
            .toList());
  }

  private static StructType columns(FileMetaData file, ParquetToSparkSchemaConverter converter) {
    String text = file.getKeyValueMetaData().get(ParquetReadSupport$.MODULE$.SPARK_METADATA_KEY());
    JsonNode json = text == null ? null : TypeTexts.json(text);
    if (json != null) {
      try {
        DataType type = DataType$.MODULE$.fromJson(TypeTexts.stored(json).toString());
        if (type instanceof StructType columns) return columns;
      } catch (SparkIllegalArgumentException noType) {
        // Another version's form. The file's own types follow, as in Spark.
      }
    }
    return converter.convert(file.getSchema());
  }
}
