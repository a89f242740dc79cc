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
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Counts the rows of each written file in which an array or a map is null, because footers of
 * Parquet count the values inside of them. Null counts of other columns are in the footers.
 */
public final class NestedNullCounts implements WriteJobStatsTracker {
  private static final long serialVersionUID = 1;

  private final List<Column> columns = new ArrayList<>();
  private final transient Map<String, long[]> byFile = new HashMap<>();

  /** `schema` is that of the rows without partition columns. */
  public NestedNullCounts(StructType schema) {
    collect(schema, List.of(), List.of());
  }

  private void collect(StructType schema, List<String> parentNames, List<Step> parentSteps) {
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      List<String> names = appended(parentNames, fields[i].name());
      List<Step> steps = appended(parentSteps, new Step(i, fields.length));
      if (fields[i].dataType() instanceof StructType struct) collect(struct, names, steps);
      if (fields[i].dataType() instanceof ArrayType || fields[i].dataType() instanceof MapType)
        columns.add(new Column(names, steps.toArray(new Step[0])));
    }
  }

  private static <T> List<T> appended(List<T> list, T item) {
    List<T> all = new ArrayList<>(list);
    all.add(item);
    return all;
  }

  /** Returns whether there are no such columns. */
  public boolean isEmpty() {
    return columns.isEmpty();
  }

  /** Adds the path of each column and its count in the file that Spark knows as `path`. */
  public void addTo(ArrayNode file, String path) {
    long[] counts = byFile.get(path);
    for (int i = 0; counts != null && i < counts.length; i++) {
      ArrayNode entry = file.addArray();
      columns.get(i).names.forEach(entry.addArray()::add);
      entry.add(counts[i]);
    }
  }

  @Override
  public WriteTaskStatsTracker newTaskInstance() {
    return new TaskTracker(columns.toArray(new Column[0]));
  }

  /** `stats` are those of the committed tasks. */
  @Override
  public void processStats(Seq<WriteTaskStats> stats, long commitTime) {
    for (WriteTaskStats task : ScalaConversions.list(stats)) byFile.putAll(((Counts) task).byFile);
  }

  /** A position in a row, and the number of fields of that row. */
  private record Step(int position, int fields) implements Serializable {}

  /** The names and steps from the row to an array or map. */
  private record Column(List<String> names, Step[] steps) implements Serializable {
    boolean isNull(InternalRow row) {
      InternalRow parent = row;
      for (int i = 0; i < steps.length; i++) {
        if (parent.isNullAt(steps[i].position)) return true;
        if (i + 1 < steps.length) parent = parent.getStruct(steps[i].position, steps[i + 1].fields);
      }
      return false;
    }
  }

  private record Counts(HashMap<String, long[]> byFile) implements WriteTaskStats {}

  private static final class TaskTracker implements WriteTaskStatsTracker {
    private final Column[] columns;
    private final HashMap<String, long[]> byFile = new HashMap<>();
    private String file;
    private long[] counts;

    TaskTracker(Column[] columns) {
      this.columns = columns;
    }

    @Override
    public void newPartition(InternalRow values) {}

    @Override
    public void newFile(String path) {
      counts(path);
    }

    @Override
    public void closeFile(String path) {}

    @Override
    public void newRow(String path, InternalRow row) {
      long[] found = counts(path);
      for (int i = 0; i < columns.length; i++) if (columns[i].isNull(row)) found[i]++;
    }

    /** Looks up a file only when it changes. Spark may keep several files open at once. */
    private long[] counts(String path) {
      if (!path.equals(file)) {
        file = path;
        counts = byFile.computeIfAbsent(path, key -> new long[columns.length]);
      }
      return counts;
    }

    @Override
    public WriteTaskStats getFinalStats(long commitTime) {
      return new Counts(byFile);
    }
  }
}
