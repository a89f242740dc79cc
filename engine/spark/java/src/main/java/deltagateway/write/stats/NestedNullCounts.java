package deltagateway.write.stats;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Counts, while files are written, the rows of each in which an array or a map is null: footers of
 * Parquet count what is inside of these. Other columns are left to the footers; without such
 * columns nothing is counted.
 */
public final class NestedNullCounts implements WriteJobStatsTracker {
  private final List<Column> columns = new ArrayList<>();
  private transient Map<String, long[]> byFile = new HashMap<>();

  /** Of rows of this schema, without partition columns. */
  public NestedNullCounts(StructType schema) {
    collect(schema, new ArrayList<>(), new ArrayList<>());
  }

  private void collect(StructType schema, List<String> names, List<int[]> steps) {
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      List<String> name = new ArrayList<>(names);
      name.add(fields[i].name());
      List<int[]> path = new ArrayList<>(steps);
      path.add(new int[] {i, fields.length});
      DataType type = fields[i].dataType();
      if (type instanceof StructType) collect((StructType) type, name, path);
      if (type instanceof ArrayType || type instanceof MapType) {
        columns.add(new Column(name.toArray(new String[0]), path.toArray(new int[0][])));
      }
    }
  }

  public boolean isEmpty() {
    return columns.isEmpty();
  }

  /** For each column its path and count in the file that Spark knows as `path`. */
  public void addTo(ArrayNode file, String path) {
    long[] counts = byFile.get(path);
    for (int i = 0; counts != null && i < counts.length; i++) {
      ArrayNode entry = file.addArray();
      ArrayNode names = entry.addArray();
      String[] parts = columns.get(i).names;
      for (int j = 0; j < parts.length; j++) names.add(parts[j]);
      entry.add(counts[i]);
    }
  }

  public WriteTaskStatsTracker newTaskInstance() {
    return new Task(columns.toArray(new Column[0]));
  }

  /** Of the tasks that were committed. */
  public void processStats(scala.collection.immutable.Seq stats, long commitTime) {
    List tasks = ScalaConversions.list(stats);
    for (int i = 0; i < tasks.size(); i++) byFile.putAll(((Counted) tasks.get(i)).byFile);
  }

  /** Names, and for each step the position in its row and the number of fields there. */
  private static final class Column implements Serializable {
    final String[] names;
    final int[][] steps;

    Column(String[] names, int[][] steps) {
      this.names = names;
      this.steps = steps;
    }

    boolean isNull(InternalRow row) {
      for (int i = 0; i < steps.length; i++) {
        int position = steps[i][0];
        if (row.isNullAt(position)) return true;
        if (i + 1 < steps.length) row = row.getStruct(position, steps[i + 1][1]);
      }
      return false;
    }
  }

  private static final class Counted implements WriteTaskStats {
    final HashMap<String, long[]> byFile;

    Counted(HashMap<String, long[]> byFile) {
      this.byFile = byFile;
    }
  }

  private static final class Task implements WriteTaskStatsTracker {
    private final Column[] columns;
    private final HashMap<String, long[]> byFile = new HashMap<>();
    private String file;
    private long[] counts;

    Task(Column[] columns) {
      this.columns = columns;
    }

    public void newPartition(InternalRow values) {}

    public void newFile(String path) {
      counts(path);
    }

    public void closeFile(String path) {}

    public void newRow(String path, InternalRow row) {
      long[] found = counts(path);
      for (int i = 0; i < columns.length; i++) if (columns[i].isNull(row)) found[i]++;
    }

    /** Rows of several files may take turns where Spark keeps these open at once. */
    private long[] counts(String path) {
      if (path.equals(file)) return counts;
      file = path;
      counts = byFile.get(path);
      if (counts == null) {
        counts = new long[columns.length];
        byFile.put(path, counts);
      }
      return counts;
    }

    public WriteTaskStats getFinalStats(long commitTime) {
      return new Counted(byFile);
    }
  }
}
