package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.credentials.VendedCredentials;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
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
import org.apache.spark.sql.types.StructField;

/**
 * Distinct counts of columns, which no log has, from the dictionaries in the first row group of a
 * Parquet file. They are lower bounds of the table's.
 *
 * <p>A data file never changes, so counts are cached by its path. A file that cannot be read has no
 * counts; the scan that reads it reports the error.
 */
final class DictionarySizes {
  /** Marks a column that is not in the file. */
  private static final Count UNKNOWN = new Count(-1, false, false);

  /**
   * Assumed count for a column without a dictionary, which writers omit if values seldom repeat.
   * PostgreSQL assumes the same.
   */
  private static final long MANY = 200;

  /** Maximum size of a dictionary, which is read whole; writers make no larger ones. */
  private static final long BYTES_MAX = 4L << 20;

  private static final int CACHED_FILES_MAX = 1_000;

  /** Path -> column, by its name in the file -> count. */
  private static final Map<String, Map<String, Count>> CACHE =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Map<String, Count>> eldest) {
              return size() > CACHED_FILES_MAX;
            }
          });

  /**
   * Distinct count of a row group. `isWhole`: the dictionary has all values; `isGivenUp`: the
   * writer gave up a dictionary because it grew too large.
   */
  private record Count(long number, boolean isWhole, boolean isGivenUp) {}

  private DictionarySizes() {}

  /**
   * Returns the counts of columns of an estimated scan without a distinct count. `valued` are the
   * columns that filters compare with values, `joined` those by which rows are joined.
   *
   * <p>A join by columns of few values multiplies rows, and must not be taken for a join by a key.
   * So a join column has a count unless it seems to be a key: a writer gave up a dictionary because
   * it grew too large, or the table has about as many rows as there are numbers between the minimum
   * and the maximum.
   */
  static Map<String, Long> counts(
      LogicalRelation leaf, PrunedFileIndex files, Set<String> valued, Set<Object> joined) {
    // Column -> its name in the file.
    Map<String, String> physical = new HashMap<>();
    Set<String> dense = new HashSet<>();
    StatementRequest.Scan scan = files.scan();
    ScanEstimate estimate = files.estimate();
    for (int i = 0; i < scan.read.length(); i++) {
      StructField field = scan.read.fields()[i];
      String name = field.name();
      boolean isJoined = joined.contains(name);
      if (!isJoined && (!valued.contains(name) || files.isKey(name))) continue;
      JsonNode known = estimate.columns.get(name);
      if (known == null || isCounted(known.get("distinct"), isJoined, estimate)) continue;
      if (isDense(known, estimate)) dense.add(name);
      boolean hasDictionary = !(field.dataType() instanceof BooleanType);
      if (hasDictionary) physical.put(name, scan.physical.fields()[i].name());
    }
    Map<String, Count> found = Map.of();
    if (estimate.largest != null && !scan.hidden && scan.format == null && !physical.isEmpty()) {
      found = counts(leaf, scan, scan.tableRoot().resolve(estimate.largest), physical);
    }
    Map<String, Long> counts = new HashMap<>();
    for (String name : physical.keySet()) {
      Count count = found.get(name);
      boolean isJoined = joined.contains(name);
      if (count != null && (!isJoined || count.isWhole())) {
        counts.put(name, count.number());
      } else if (isJoined && !dense.contains(name) && (count == null || !count.isGivenUp())) {
        counts.put(name, EstimatedRelation.FEW_VALUES);
      }
    }
    return counts;
  }

  /** Returns whether the rows may have at least half of all numbers between the bounds. */
  private static boolean isDense(JsonNode known, ScanEstimate estimate) {
    if (known.get("low").isNull() || known.get("high").isNull()) return false;
    BigDecimal width =
        new BigDecimal(known.get("high").asText())
            .subtract(new BigDecimal(known.get("low").asText()));
    return width.compareTo(BigDecimal.valueOf(2 * estimate.rows)) < 0;
  }

  /** Returns whether the log has a count that is more than the upper bound by the rows. */
  private static boolean isCounted(JsonNode distinct, boolean isJoined, ScanEstimate estimate) {
    return !distinct.isNull() && !(isJoined && distinct.longValue() >= estimate.rows);
  }

  /** `physical`: column -> its name in the file. */
  private static Map<String, Count> counts(
      LogicalRelation leaf, StatementRequest.Scan scan, Path file, Map<String, String> physical) {
    Map<String, Count> cached = CACHE.getOrDefault(file.toString(), Map.of());
    if (!cached.keySet().containsAll(physical.values())) {
      Map<String, Count> all = new HashMap<>(cached);
      physical.values().forEach(each -> all.put(each, UNKNOWN));
      try {
        scan.tableRoot().ensureReal(file);
        read(conf(leaf, scan), file, all);
      } catch (IOException unreachable) {
        return Map.of();
      } catch (RuntimeException unreadable) {
        // Cached as unknown, since the next attempt would fail too.
      }
      cached = all;
      CACHE.put(file.toString(), cached);
    }
    Map<String, Count> found = new HashMap<>();
    for (Map.Entry<String, String> column : physical.entrySet()) {
      Count count = cached.get(column.getValue());
      if (count != UNKNOWN) found.put(column.getKey(), count);
    }
    return found;
  }

  private static Configuration conf(LogicalRelation leaf, StatementRequest.Scan scan) {
    SparkSession spark = (SparkSession) ((HadoopFsRelation) leaf.relation()).sparkSession();
    Configuration conf = spark.sessionState().newHadoopConf();
    return VendedCredentials.with(scan.lease, conf, scan.tableRoot().path(), spark.sparkContext());
  }

  /** Sets the `counts` of the columns, by their names in the file. */
  private static void read(Configuration conf, Path path, Map<String, Count> counts)
      throws IOException {
    HadoopInputFile file = HadoopInputFile.fromPath(path, conf);
    try (ParquetFileReader reader =
        ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build())) {
      if (reader.getRowGroups().isEmpty()) return;
      BlockMetaData group = reader.getRowGroups().get(0);
      for (ColumnChunkMetaData chunk : group.getColumns()) {
        String[] names = chunk.getPath().toArray();
        if (names.length == 1 && counts.containsKey(names[0])) {
          counts.put(names[0], count(reader, group, chunk));
        }
      }
    }
  }

  private static Count count(
      ParquetFileReader reader, BlockMetaData group, ColumnChunkMetaData chunk) {
    long atLeast = Math.min(MANY, group.getRowCount());
    if (!chunk.hasDictionaryPage() || isLarge(chunk)) {
      return new Count(atLeast, false, chunk.hasDictionaryPage());
    }
    ColumnDescriptor column =
        reader.getFileMetaData().getSchema().getColumnDescription(chunk.getPath().toArray());
    DictionaryPage page = reader.getNextDictionaryReader().readDictionaryPage(column);
    if (page == null) return new Count(atLeast, false, false);
    EncodingStats pages = chunk.getEncodingStats();
    boolean isWhole = pages == null || !pages.hasNonDictionaryEncodedPages();
    return new Count(Math.max(page.getDictionarySize(), isWhole ? 1 : atLeast), isWhole, !isWhole);
  }

  private static boolean isLarge(ColumnChunkMetaData chunk) {
    long dictionary = chunk.getFirstDataPageOffset() - chunk.getDictionaryPageOffset();
    return chunk.getDictionaryPageOffset() > 0 && dictionary > BYTES_MAX;
  }
}
