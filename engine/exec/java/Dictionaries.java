package deltagateway;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.EncodingStats;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.BooleanType;

/**
 * How many values of a column differ in the first row group of a Parquet file, by the size of its dictionary: what no log
 * says. It is no more than the table has, and where a writer gave up its dictionary, or made none, at least some.
 *
 * A data file never changes, so what was found is kept by its path. A file that cannot be read says nothing: the scan
 * that needs it says why.
 */
final class Dictionaries {
  /** Of a column that was not found. */
  private static final Long UNKNOWN = Long.valueOf(-1);

  /** Of a column without a dictionary, which writers leave away where values seldom repeat: what Postgres assumes. */
  private static final long MANY = 200;

  /** A dictionary is no larger, as writers make them; it is read whole. */
  private static final long BYTES_MAX = 4L << 20;

  /** Files: there are few tables of which somebody asks. */
  private static final int KEPT_MAX = 1_000;

  /** Path -> column, as the file calls it -> number. */
  private static final Map KEPT = Collections.synchronizedMap(new LinkedHashMap(16, 0.75f, true) {
    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > KEPT_MAX;
    }
  });

  private Dictionaries() {}

  /** Of those of the columns of an estimated scan of which nobody counted the values: column -> number. */
  static Map counts(LogicalRelation leaf, ListedFileIndex files, Set names) {
    Map physical = new HashMap();
    Request.Scan scan = files.scan();
    Estimate estimate = files.estimate();
    if (estimate.largest == null || scan.hidden || scan.format != null) return physical;
    for (int i = 0; i < scan.read.length(); i++) {
      String name = scan.read.fields()[i].name();
      JsonNode known = names.contains(name) ? estimate.columns.get(name) : null;
      if (known == null || !known.get("distinct").isNull() || files.isKey(name)) continue;
      if (scan.read.fields()[i].dataType() instanceof BooleanType) continue; // which has no dictionary
      physical.put(name, scan.physical.fields()[i].name());
    }
    return physical.isEmpty() ? physical : counts(leaf, scan, scan.tableRoot().resolve(estimate.largest), physical);
  }

  /** `physical`: column -> what the file calls it. */
  private static Map counts(LogicalRelation leaf, Request.Scan scan, Path file, Map physical) {
    Map kept = (Map) KEPT.get(file.toString());
    if (kept == null || !kept.keySet().containsAll(physical.values())) {
      Map all = new HashMap(kept == null ? new HashMap() : kept);
      for (Object each : physical.values()) all.put(each, UNKNOWN);
      try {
        scan.tableRoot().ensureReal(file);
        read(conf(leaf, scan), file, all);
      } catch (IOException unreachable) {
        return new HashMap();
      } catch (RuntimeException unreadable) {
        // It will be so the next time.
      }
      kept = all;
      KEPT.put(file.toString(), kept);
    }
    Map found = new HashMap();
    for (Object each : physical.entrySet()) {
      Map.Entry column = (Map.Entry) each;
      Long count = (Long) kept.get(column.getValue());
      if (!count.equals(UNKNOWN)) found.put(column.getKey(), count);
    }
    return found;
  }

  private static Configuration conf(LogicalRelation leaf, Request.Scan scan) {
    SparkSession spark = (SparkSession) ((HadoopFsRelation) leaf.relation()).sparkSession();
    Configuration conf = spark.sessionState().newHadoopConf();
    return Leases.with(scan.lease, conf, scan.tableRoot().path(), spark.sparkContext());
  }

  /** Fills in `counts`, of columns by the names that the file has. */
  private static void read(Configuration conf, Path path, Map counts) throws IOException {
    HadoopInputFile file = HadoopInputFile.fromPath(path, conf);
    ParquetFileReader reader = ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build());
    try {
      if (reader.getRowGroups().isEmpty()) return;
      BlockMetaData group = (BlockMetaData) reader.getRowGroups().get(0);
      for (Object each : group.getColumns()) {
        ColumnChunkMetaData chunk = (ColumnChunkMetaData) each;
        String[] names = chunk.getPath().toArray();
        if (names.length != 1 || !counts.containsKey(names[0])) continue;
        counts.put(names[0], Long.valueOf(count(reader, group, chunk)));
      }
    } finally {
      reader.close();
    }
  }

  private static long count(ParquetFileReader reader, BlockMetaData group, ColumnChunkMetaData chunk) {
    long atLeast = Math.min(MANY, group.getRowCount());
    if (!chunk.hasDictionaryPage() || isLarge(chunk)) return atLeast;
    ColumnDescriptor column =
        reader.getFileMetaData().getSchema().getColumnDescription(chunk.getPath().toArray());
    DictionaryPage page = reader.getNextDictionaryReader().readDictionaryPage(column);
    if (page == null) return atLeast;
    EncodingStats pages = chunk.getEncodingStats();
    boolean isWhole = pages == null || !pages.hasNonDictionaryEncodedPages();
    return Math.max(page.getDictionarySize(), isWhole ? 1 : atLeast);
  }

  private static boolean isLarge(ColumnChunkMetaData chunk) {
    long dictionary = chunk.getFirstDataPageOffset() - chunk.getDictionaryPageOffset();
    return chunk.getDictionaryPageOffset() > 0 && dictionary > BYTES_MAX;
  }
}
