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

/**
 * How many values of a column differ in the first row group of a Parquet file, by the size of its
 * dictionary: what no log says. It is no more than the table has, and where a writer gave up its
 * dictionary, or made none, at least some.
 *
 * <p>A data file never changes, so what was found is kept by its path. A file that cannot be read
 * says nothing: the scan that needs it says why.
 */
public final class DictionarySizes {
  /** Of a column that was not found. */
  private static final Count UNKNOWN = new Count(-1, false, false);

  /**
   * Of a column without a dictionary, which writers leave away where values seldom repeat: what
   * Postgres assumes.
   */
  private static final long MANY = 200;

  /** A dictionary is no larger, as writers make them; it is read whole. */
  private static final long BYTES_MAX = 4L << 20;

  /** Files: there are few tables of which somebody asks. */
  private static final int KEPT_MAX = 1_000;

  /** Path -> column, as the file calls it -> {@link Count}. */
  private static final Map<String, Map<Object, Count>> KEPT =
      Collections.synchronizedMap(
          new LinkedHashMap(16, 0.75f, true) {
            protected boolean removeEldestEntry(Map.Entry eldest) {
              return size() > KEPT_MAX;
            }
          });

  private DictionarySizes() {}

  /**
   * Of those of the columns of an estimated scan of which nobody counted the values: column ->
   * number. `valued` are those that filters compare with values, `joined` those by which rows are
   * joined.
   *
   * <p>A join by columns of few values makes many rows of few, and must not be taken for one by a
   * key. So of the latter there is a number unless something says that their values seldom repeat:
   * a writer gave up a dictionary because it grew, or the table has about as many rows as there are
   * numbers between the lowest and the highest.
   */
  static Map<String, Long> counts(
      LogicalRelation leaf, PrunedFileIndex files, Set<String> valued, Set<Object> joined) {
    Map<String, Object> physical = new HashMap<>();
    Map<String, Long> counts = new HashMap<>();
    Set<String> dense = new HashSet<>();
    StatementRequest.Scan scan = files.scan();
    ScanEstimate estimate = files.estimate();
    for (int i = 0; i < scan.read.length(); i++) {
      String name = scan.read.fields()[i].name();
      boolean isJoined = joined.contains(name);
      JsonNode known =
          isJoined || valued.contains(name) && !files.isKey(name)
              ? estimate.columns.get(name)
              : null;
      if (known == null || isCounted(known.get("distinct"), isJoined, estimate)) continue;
      boolean isBoolean =
          scan.read.fields()[i].dataType() instanceof BooleanType; // which has no dictionary
      if (isDense(known, estimate)) dense.add(name);
      if (!isBoolean) physical.put(name, scan.physical.fields()[i].name());
    }
    Map<String, Count> found = new HashMap<>();
    if (estimate.largest != null && !scan.hidden && scan.format == null && !physical.isEmpty()) {
      found = counts(leaf, scan, scan.tableRoot().resolve(estimate.largest), physical);
    }
    for (String each : physical.keySet()) {
      Count count = found.get(each);
      if (!joined.contains(each) && count != null || count != null && count.isWhole) {
        counts.put(each, Long.valueOf(count.number));
      } else if (joined.contains(each)
          && !dense.contains(each)
          && (count == null || !count.isGivenUp)) {
        counts.put(each, Long.valueOf(EstimatedRelation.FEW_VALUES));
      }
    }
    return counts;
  }

  /** Numbers of which a key has all, or about half. */
  private static boolean isDense(JsonNode known, ScanEstimate estimate) {
    if (known.get("low").isNull() || known.get("high").isNull()) return false;
    BigDecimal width =
        new BigDecimal(known.get("high").asText())
            .subtract(new BigDecimal(known.get("low").asText()));
    return width.compareTo(BigDecimal.valueOf(2 * estimate.rows.longValue())) < 0;
  }

  /** As many as there are rows is only what they cannot exceed. */
  private static boolean isCounted(JsonNode distinct, boolean isJoined, ScanEstimate estimate) {
    return !distinct.isNull() && !(isJoined && distinct.longValue() >= estimate.rows.longValue());
  }

  /** `physical`: column -> what the file calls it. */
  private static Map<String, Count> counts(
      LogicalRelation leaf, StatementRequest.Scan scan, Path file, Map<String, Object> physical) {
    Map<Object, Count> kept = KEPT.get(file.toString());
    if (kept == null || !kept.keySet().containsAll(physical.values())) {
      Map<Object, Count> all = new HashMap<>(kept == null ? new HashMap<>() : kept);
      for (Object each : physical.values()) all.put(each, UNKNOWN);
      try {
        scan.tableRoot().ensureReal(file);
        read(conf(leaf, scan), file, all);
      } catch (IOException unreachable) {
        return new HashMap<>();
      } catch (RuntimeException unreadable) {
        // It will be so the next time.
      }
      kept = all;
      KEPT.put(file.toString(), kept);
    }
    Map<String, Count> found = new HashMap<>();
    for (Map.Entry<String, Object> column : physical.entrySet()) {
      if (kept.get(column.getValue()) != UNKNOWN)
        found.put(column.getKey(), kept.get(column.getValue()));
    }
    return found;
  }

  private static Configuration conf(LogicalRelation leaf, StatementRequest.Scan scan) {
    SparkSession spark = (SparkSession) ((HadoopFsRelation) leaf.relation()).sparkSession();
    Configuration conf = spark.sessionState().newHadoopConf();
    return VendedCredentials.with(scan.lease, conf, scan.tableRoot().path(), spark.sparkContext());
  }

  /** Fills in `counts`, of columns by the names that the file has. */
  private static void read(Configuration conf, Path path, Map<Object, Count> counts)
      throws IOException {
    HadoopInputFile file = HadoopInputFile.fromPath(path, conf);
    ParquetFileReader reader =
        ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build());
    try {
      if (reader.getRowGroups().isEmpty()) return;
      BlockMetaData group = reader.getRowGroups().get(0);
      for (ColumnChunkMetaData chunk : group.getColumns()) {
        String[] names = chunk.getPath().toArray();
        if (names.length != 1 || !counts.containsKey(names[0])) continue;
        counts.put(names[0], count(reader, group, chunk));
      }
    } finally {
      reader.close();
    }
  }

  private static Count count(
      ParquetFileReader reader, BlockMetaData group, ColumnChunkMetaData chunk) {
    long atLeast = Math.min(MANY, group.getRowCount());
    if (!chunk.hasDictionaryPage() || isLarge(chunk))
      return new Count(atLeast, false, chunk.hasDictionaryPage());
    ColumnDescriptor column =
        reader.getFileMetaData().getSchema().getColumnDescription(chunk.getPath().toArray());
    DictionaryPage page = reader.getNextDictionaryReader().readDictionaryPage(column);
    if (page == null) return new Count(atLeast, false, false);
    EncodingStats pages = chunk.getEncodingStats();
    boolean isWhole = pages == null || !pages.hasNonDictionaryEncodedPages();
    return new Count(Math.max(page.getDictionarySize(), isWhole ? 1 : atLeast), isWhole, !isWhole);
  }

  /**
   * How many values differ: all of a row group, or only some because its writer gave up the
   * dictionary or made none.
   */
  private static final class Count {
    final long number;
    final boolean isWhole;
    final boolean isGivenUp;

    Count(long number, boolean isWhole, boolean isGivenUp) {
      this.number = number;
      this.isWhole = isWhole;
      this.isGivenUp = isGivenUp;
    }
  }

  private static boolean isLarge(ColumnChunkMetaData chunk) {
    long dictionary = chunk.getFirstDataPageOffset() - chunk.getDictionaryPageOffset();
    return chunk.getDictionaryPageOffset() > 0 && dictionary > BYTES_MAX;
  }
}
