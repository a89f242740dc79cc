package deltagateway.scan;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * Data files of one scan and their constants, decoded from an Arrow stream.
 *
 * <p>The stream has the columns path (string), size (bytes), modification time (ms), and then one
 * string column for each constant: the value as the log serializes it, parsed here by Spark's own
 * cast in the session's time zone. Null is null. Files with equal constants form a group, so that a
 * filter is evaluated once for all of them.
 */
public final class ScanFiles {
  private static final int FIRST_CONSTANT = 3;

  private String[] paths = new String[0];
  private long[] sizes = new long[0];
  private long[] modificationTimes = new long[0];
  private InternalRow[] constants;
  private int[][] members;
  private boolean isPart;

  private ScanFiles() {}

  /** Reads one stream. */
  public static ScanFiles read(InputStream in, StructType schema, String timeZone)
      throws Exception {
    Groups groups = new Groups(schema, timeZone);
    ScanFiles list = new ScanFiles();
    try (BufferAllocator allocator =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("file list", 0L, Long.MAX_VALUE)) {
      ArrowStreamReader reader = new ArrowStreamReader(in, allocator);
      try {
        list.isPart =
            reader.getVectorSchemaRoot().getSchema().getCustomMetadata().containsKey("is_part");
        while (reader.loadNextBatch()) list.append(reader.getVectorSchemaRoot(), groups);
      } finally {
        reader.close(false); // the caller closes its stream
      }
    }
    list.constants = groups.rows();
    list.members = groups.members();
    return list;
  }

  private void append(VectorSchemaRoot batch, Groups groups) {
    int first = paths.length;
    int rows = batch.getRowCount();
    paths = Arrays.copyOf(paths, first + rows);
    sizes = Arrays.copyOf(sizes, first + rows);
    modificationTimes = Arrays.copyOf(modificationTimes, first + rows);
    VarCharVector path = (VarCharVector) batch.getVector(0);
    BigIntVector size = (BigIntVector) batch.getVector(1);
    BigIntVector time = (BigIntVector) batch.getVector(2);
    List<VarCharVector> texts =
        IntStream.range(0, groups.width())
            .mapToObj(i -> (VarCharVector) batch.getVector(FIRST_CONSTANT + i))
            .toList();
    for (int row = 0; row < rows; row++) {
      paths[first + row] = text(path, row);
      sizes[first + row] = size.get(row);
      modificationTimes[first + row] = time.get(row);
      String[] values = new String[texts.size()];
      for (int i = 0; i < values.length; i++)
        values[i] = texts.get(i).isNull(row) ? null : text(texts.get(i), row);
      groups.add(first + row, values);
    }
  }

  private static String text(VarCharVector vector, int row) {
    return new String(vector.get(row), StandardCharsets.UTF_8);
  }

  public int count() {
    return paths.length;
  }

  /** Returns whether matching files are left out, because these have as many rows as wanted. */
  boolean isPart() {
    return isPart;
  }

  /** Returns whether both have the same files with the same constants in the same order. */
  boolean isSame(ScanFiles other) {
    return isPart == other.isPart
        && Arrays.equals(paths, other.paths)
        && Arrays.equals(sizes, other.sizes)
        && Arrays.equals(modificationTimes, other.modificationTimes)
        && Arrays.equals(constants, other.constants)
        && Arrays.deepEquals(members, other.members);
  }

  String path(int file) {
    return paths[file];
  }

  long size(int file) {
    return sizes[file];
  }

  long modificationTime(int file) {
    return modificationTimes[file];
  }

  int groups() {
    return constants.length;
  }

  InternalRow constants(int group) {
    return constants[group];
  }

  int[] members(int group) {
    return members[group];
  }

  /** Casts a string as Spark does; a malformed one raises instead of becoming null. */
  public static Object parse(String text, DataType type, String timeZone) {
    Literal literal = new Literal(UTF8String.fromString(text), StringType$.MODULE$);
    return Cast$.MODULE$.apply(literal, type, Option.apply(timeZone), true).eval(null);
  }

  /** Files by equal constants, in order of appearance. Each distinct string is parsed once. */
  private static final class Groups {
    private final StructField[] fields;
    private final String timeZone;
    private final List<Map<String, Object>> parsed;
    private final Map<List<Object>, IntStream.Builder> filesByValues = new LinkedHashMap<>();

    Groups(StructType schema, String timeZone) {
      this.fields = schema.fields();
      this.timeZone = timeZone;
      this.parsed =
          Stream.<Map<String, Object>>generate(HashMap::new).limit(fields.length).toList();
    }

    int width() {
      return fields.length;
    }

    void add(int file, String[] texts) {
      List<Object> values = new ArrayList<>(fields.length);
      for (int i = 0; i < fields.length; i++) values.add(value(i, texts[i]));
      filesByValues.computeIfAbsent(values, key -> IntStream.builder()).add(file);
    }

    private Object value(int column, String text) {
      if (text == null) return null;
      return parsed
          .get(column)
          .computeIfAbsent(text, key -> parse(key, fields[column].dataType(), timeZone));
    }

    InternalRow[] rows() {
      return filesByValues.keySet().stream()
          .map(values -> new GenericInternalRow(values.toArray()))
          .toArray(InternalRow[]::new);
    }

    int[][] members() {
      return filesByValues.values().stream()
          .map(files -> files.build().toArray())
          .toArray(int[][]::new);
    }
  }
}
