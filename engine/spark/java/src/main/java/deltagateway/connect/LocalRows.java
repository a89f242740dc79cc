package deltagateway.connect;

import deltagateway.protocol.RejectionException;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BaseLargeVariableWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.types.Types.MinorType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.util.ValueVectorUtility;
import org.apache.spark.sql.util.ArrowUtils$;
import org.sparkproject.connect.protobuf.ByteString;

/**
 * Check of the rows of a local relation, a stream of Arrow that the client writes.
 *
 * <p>Spark reads texts at the addresses that the stream's offsets name, without a check of bounds:
 * wrong offsets would show the memory of the server, or end it.
 */
final class LocalRows {
  /** Bytes of one batch; a plan has fewer. */
  private static final long BYTES_MAX = 64 << 20;

  /** Types for which the checks are complete. */
  private static final Set<MinorType> TYPES =
      EnumSet.of(
          MinorType.NULL,
          MinorType.BIT,
          MinorType.TINYINT,
          MinorType.SMALLINT,
          MinorType.INT,
          MinorType.BIGINT,
          MinorType.FLOAT4,
          MinorType.FLOAT8,
          MinorType.DECIMAL,
          MinorType.DATEDAY,
          MinorType.TIMENANO,
          MinorType.TIMESTAMPMICRO,
          MinorType.TIMESTAMPMICROTZ,
          MinorType.DURATION,
          MinorType.INTERVALYEAR,
          MinorType.INTERVALMONTHDAYNANO,
          MinorType.VARCHAR,
          MinorType.VARBINARY,
          MinorType.LARGEVARCHAR,
          MinorType.LARGEVARBINARY,
          MinorType.LIST,
          MinorType.MAP,
          MinorType.STRUCT);

  private static final String METADATA = "SPARK::metadata::json";

  private LocalRows() {}

  /** Rejects rows that are malformed, compressed, encoded by dictionaries, or without values. */
  static void ensureValid(ByteString data) {
    if (data.isEmpty()) return;
    try (BufferAllocator memory =
            ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("local rows", 0, BYTES_MAX);
        ArrowStreamReader reader = new ArrowStreamReader(data.newInput(), memory)) {
      ensureValid(reader, Byte.SIZE * (long) data.size());
    } catch (RejectionException rejection) {
      throw rejection;
    } catch (IOException | RuntimeException failure) {
      throw new RejectionException("DataFrame", "with local rows that are malformed");
    }
  }

  /** A column of no type has no values, so a small stream may have any number of rows. */
  private static void ensureValid(ArrowStreamReader reader, long rowsMax) throws IOException {
    VectorSchemaRoot batch = reader.getVectorSchemaRoot();
    batch.getSchema().getFields().forEach(LocalRows::ensureMetadata);
    if (!reader.getDictionaryVectors().isEmpty()) throw new IOException("encoded by dictionaries");
    long rows = 0;
    while (reader.loadNextBatch()) {
      rows += batch.getRowCount();
      if (rows > rowsMax || batch.getRowCount() < 0) throw new IOException("more rows than bits");
      for (FieldVector column : batch.getFieldVectors()) {
        ensureBuffers(column, batch.getRowCount());
        ensureOffsets(column);
      }
    }
  }

  /** Spark takes the metadata of a column from that of Arrow's field. */
  private static void ensureMetadata(Field field) {
    String metadata = field.getMetadata().get(METADATA);
    if (metadata != null) AllowedMessages.ensureMetadata(metadata);
    field.getChildren().forEach(LocalRows::ensureMetadata);
  }

  /**
   * Validates a column by Arrow, except for two of its errors: it rejects every map because of its
   * type, and each decimal with as many digits as its type permits.
   */
  private static void ensureBuffers(FieldVector column, int rows) throws IOException {
    if (column.getValueCount() != rows) throw new IOException("a column of another length");
    ensureBuffers(column);
  }

  private static void ensureBuffers(FieldVector vector) throws IOException {
    if (vector instanceof DecimalVector decimals) {
      ValueVectorUtility.validate(decimals);
      ensureDigits(decimals);
      return;
    }
    if (!hasMapOrDecimal(vector)) {
      ValueVectorUtility.validateFull(vector);
      return;
    }
    long rows = vector.getValueCount();
    ensureCapacity(vector.getValidityBuffer(), (rows + Byte.SIZE - 1) / Byte.SIZE);
    if (vector instanceof ListVector && rows > 0)
      ensureCapacity(vector.getOffsetBuffer(), (rows + 1) * Integer.BYTES);
    for (FieldVector child : vector.getChildrenFromFields()) ensureBuffers(child);
  }

  private static boolean hasMapOrDecimal(FieldVector vector) {
    return vector instanceof MapVector
        || vector instanceof DecimalVector
        || vector.getChildrenFromFields().stream().anyMatch(LocalRows::hasMapOrDecimal);
  }

  private static void ensureDigits(DecimalVector decimals) throws IOException {
    for (int i = 0; i < decimals.getValueCount(); i++) {
      int digits = decimals.isNull(i) ? 0 : decimals.getObject(i).precision();
      if (digits > decimals.getPrecision()) throw new IOException("a decimal of " + digits);
    }
  }

  private static void ensureCapacity(ArrowBuf buffer, long bytes) throws IOException {
    if (buffer.capacity() < bytes) throw new IOException("a buffer of " + buffer.capacity());
  }

  /** Checks offsets of lists and rows of fields, which Arrow's own validation leaves out. */
  private static void ensureOffsets(FieldVector vector) throws IOException {
    if (!TYPES.contains(vector.getMinorType()))
      throw new IOException("a vector of type " + vector.getMinorType());
    if (vector instanceof ListVector list) {
      ensureOffsets(list, Integer.BYTES, list.getDataVector().getValueCount());
    } else if (vector instanceof BaseVariableWidthVector) {
      ensureOffsets(vector, Integer.BYTES, vector.getDataBuffer().capacity());
    } else if (vector instanceof BaseLargeVariableWidthVector) {
      ensureOffsets(vector, Long.BYTES, vector.getDataBuffer().capacity());
    }
    for (FieldVector child : vector.getChildrenFromFields()) {
      if (vector instanceof StructVector && child.getValueCount() < vector.getValueCount())
        throw new IOException("a field with fewer rows than its struct");
      ensureOffsets(child);
    }
  }

  private static void ensureOffsets(FieldVector vector, int width, long offsetMax)
      throws IOException {
    ArrowBuf offsets = vector.getOffsetBuffer();
    long before = 0;
    for (int i = 0; i <= vector.getValueCount() && vector.getValueCount() > 0; i++) {
      long at = (long) i * width;
      long offset = width == Integer.BYTES ? offsets.getInt(at) : offsets.getLong(at);
      if (offset < before || offset > offsetMax) throw new IOException("an offset of " + offset);
      before = offset;
    }
  }
}
