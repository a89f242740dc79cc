package deltagateway;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
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

/**
 * How many values of a column differ in the first row group of a Parquet file, by the size of its dictionary: what no log
 * says. It is no more than the table has, and where a writer gave up its dictionary, or made none, at least some.
 *
 * A data file never changes, so what was found is kept by its path. A file that cannot be read says nothing: the scan
 * that needs it says why.
 */
final class Dictionaries {
  /** Nothing was found. */
  private static final Long UNKNOWN = Long.valueOf(-1);

  /** Of a column without a dictionary, which writers leave away where values seldom repeat: what Postgres assumes. */
  private static final long MANY = 200;

  /** A dictionary is no larger, as writers make them; it is read whole. */
  private static final long BYTES_MAX = 4L << 20;

  private static final int KEPT_MAX = 10_000;

  /** Path and column -> number. */
  private static final Map KEPT = Collections.synchronizedMap(new LinkedHashMap(16, 0.75f, true) {
    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > KEPT_MAX;
    }
  });

  private Dictionaries() {}

  /** Of those of the columns of an estimated scan of which nobody counted the values: column -> number. */
  static Map counts(LogicalRelation leaf, ListedFileIndex files, Set names) {
    Map found = new HashMap();
    Request.Scan scan = files.scan();
    Estimate estimate = files.estimate();
    if (estimate.largest == null || scan.hidden || scan.format != null) return found;
    for (int i = 0; i < scan.read.length(); i++) {
      String name = scan.read.fields()[i].name();
      JsonNode known = names.contains(name) ? estimate.columns.get(name) : null;
      if (known == null || !known.get("distinct").isNull() || files.isKey(name)) continue;
      Long count = count(leaf, scan, estimate.largest, scan.physical.fields()[i].name());
      if (count != UNKNOWN) found.put(name, count);
    }
    return found;
  }

  /** Of the column that the file calls `column`. */
  private static Long count(LogicalRelation leaf, Request.Scan scan, String file, String column) {
    TableRoot root = scan.tableRoot();
    Path path = root.resolve(file);
    String key = path + "\n" + column;
    Long known = (Long) KEPT.get(key);
    if (known != null) return known;
    Long found;
    try {
      root.ensureReal(path);
      found = Long.valueOf(read(conf(leaf, scan), path, column));
    } catch (Exception unreadable) {
      found = UNKNOWN;
    }
    KEPT.put(key, found);
    return found;
  }

  private static Configuration conf(LogicalRelation leaf, Request.Scan scan) {
    SparkSession spark = (SparkSession) ((HadoopFsRelation) leaf.relation()).sparkSession();
    Configuration conf = spark.sessionState().newHadoopConf();
    return Leases.with(scan.lease, conf, scan.tableRoot().path(), spark.sparkContext());
  }

  private static long read(Configuration conf, Path path, String column) throws IOException {
    HadoopInputFile file = HadoopInputFile.fromPath(path, conf);
    ParquetFileReader reader = ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build());
    try {
      List groups = reader.getRowGroups();
      if (groups.isEmpty()) return UNKNOWN.longValue();
      BlockMetaData group = (BlockMetaData) groups.get(0);
      for (Object each : group.getColumns()) {
        ColumnChunkMetaData chunk = (ColumnChunkMetaData) each;
        String[] names = chunk.getPath().toArray();
        if (names.length == 1 && names[0].equals(column)) return count(reader, group, chunk);
      }
      return UNKNOWN.longValue();
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
