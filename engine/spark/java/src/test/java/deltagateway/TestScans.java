package deltagateway;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.util.ArrowUtils$;

/** Scans as Python describes them, and lists of their files. */
public final class TestScans {
  private static final ArrowType STRING = ArrowType.Utf8.INSTANCE;
  private static final ArrowType LONG = new ArrowType.Int(64, true);

  private TestScans() {}

  /** Returns the scan `t` of a table in `root` with columns given as DDL. */
  public static StatementRequest.Scan scan(Path root, String columns, Consumer<ObjectNode> change) {
    ObjectNode node = TestRequests.scan("t", columns);
    node.put("root", root.toString()).put("accepts_hard_links", true);
    change.accept(node);
    return new StatementRequest.Scan(node);
  }

  /** Returns the stream of a list of files: path, size, modification time, and constants. */
  public static byte[] files(List<String> constants, Object[]... files) {
    return files(constants, false, files);
  }

  /** Returns such a stream; `isPart` if other files match. */
  public static byte[] files(List<String> constants, boolean isPart, Object[]... files) {
    List<Field> fields = new ArrayList<>();
    fields.add(new Field("path", FieldType.nullable(STRING), null));
    fields.add(new Field("size", FieldType.nullable(LONG), null));
    fields.add(new Field("time", FieldType.nullable(LONG), null));
    for (String name : constants) fields.add(new Field(name, FieldType.nullable(STRING), null));
    Schema schema = new Schema(fields, isPart ? Map.of("is_part", "true") : Map.of());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (BufferAllocator allocator =
            ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("test", 0, Long.MAX_VALUE);
        VectorSchemaRoot root = VectorSchemaRoot.create(schema, allocator);
        ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
      writer.start();
      root.allocateNew();
      for (int row = 0; row < files.length; row++) {
        for (int column = 0; column < fields.size(); column++)
          set(root.getVector(column), row, files[row][column]);
      }
      root.setRowCount(files.length);
      writer.writeBatch();
      writer.end();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return bytes.toByteArray();
  }

  private static void set(FieldVector vector, int row, Object value) {
    if (value == null) vector.setNull(row);
    else if (vector instanceof BigIntVector longs) longs.setSafe(row, ((Number) value).longValue());
    else ((VarCharVector) vector).setSafe(row, ((String) value).getBytes(StandardCharsets.UTF_8));
  }
}
