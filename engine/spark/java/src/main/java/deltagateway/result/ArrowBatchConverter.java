package deltagateway.result;

import java.io.IOException;
import java.nio.channels.WritableByteChannel;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.arrow.ArrowFieldWriter;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.execution.arrow.ArrowWriter$;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Iterator;

/**
 * Converts rows to Arrow record batch messages as Spark's own converter (ArrowConverters.scala)
 * does, in less time: the digits of decimals and the bytes of strings are copied from the memory of
 * a row without creating objects, and a message is written from the memory of its columns.
 */
final class ArrowBatchConverter implements AutoCloseable {
  /** About the size of a batch, which is read as a whole. Rows in Spark's format are counted. */
  private static final long BYTES_MAX = 4 << 20;

  /** Rows of the first batch: a client may wait for it. A later one has as many as those before. */
  private static final int FIRST_ROWS = 16384;

  /** The initial capacity of nested columns. */
  private static final int NESTED_ROWS = 16;

  private final Iterator<InternalRow> rows;
  private final int rowsMax;
  private final BufferAllocator allocator;
  private final VectorSchemaRoot root;
  private final VectorUnloader unloader;
  private final ArrowWriter writer;
  private ArrowRecordBatch batch;
  private long written;

  ArrowBatchConverter(Iterator<InternalRow> rows, StructType schema, String timeZone, int rowsMax) {
    this.rows = rows;
    this.rowsMax = rowsMax;
    Schema arrowSchema =
        ArrowUtils$.MODULE$.toArrowSchema(
            schema, timeZone, false, false, ArrowUtils$.MODULE$.toArrowSchema$default$5());
    this.allocator =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("result", 0, Long.MAX_VALUE);
    this.root = VectorSchemaRoot.create(arrowSchema, allocator);
    allocateNested(root.getFieldVectors());
    this.unloader = new VectorUnloader(root);
    this.writer = new ArrowWriter(root, columns(root.getFieldVectors()));
  }

  /**
   * Allocates lists that may never have a value. Otherwise Arrow uses one empty buffer for all of
   * them, in all threads: one sets its length to that of the first offset, another back to 0. Then
   * offsets are missing in the message, which crashes readers that call pyarrow's `nbytes`, or the
   * message cannot be written.
   */
  private static void allocateNested(List<FieldVector> vectors) {
    for (FieldVector vector : vectors) {
      if (vector.getChildrenFromFields().isEmpty()) continue;
      vector.setInitialCapacity(NESTED_ROWS);
      vector.allocateNew();
    }
  }

  private static ArrowFieldWriter[] columns(List<FieldVector> vectors) {
    return vectors.stream().map(ArrowBatchConverter::column).toArray(ArrowFieldWriter[]::new);
  }

  private static ArrowFieldWriter column(FieldVector vector) {
    if (vector instanceof DecimalVector decimals) return new Decimals(decimals);
    if (vector instanceof VarCharVector strings) return new Strings(strings);
    return ArrowWriter$.MODULE$.createFieldWriter(vector);
  }

  /** Creates the next batch; returns false if no rows are left. */
  boolean next() {
    release();
    if (!rows.hasNext()) return false;
    int count = 0;
    long bytes = 0;
    long countMax = Math.min(rowsMax, Math.max(FIRST_ROWS, written));
    do {
      InternalRow row = rows.next();
      writer.write(row);
      written++;
      if (row instanceof UnsafeRow unsafe) bytes += unsafe.getSizeInBytes();
    } while (++count < countMax && bytes < BYTES_MAX && rows.hasNext());
    writer.finish();
    batch = unloader.getRecordBatch();
    // A vector that was not reset would return rows of the batch before.
    if (batch.getLength() != count)
      throw new IllegalStateException(
          batch.getLength() + " rows are in a batch that was made of " + count);
    return true;
  }

  /** Returns about how many bytes the message of the batch has. */
  long size() {
    return batch.computeBodyLength();
  }

  /**
   * Returns how many bytes of values the batch has: never more than the reader, which ends a result
   * by that count, counts (engine/types/value_bytes.py). So it counts no padding, no validity bits,
   * which the reader drops if no value is null, and one offset for each string or list.
   */
  long valueBytes() {
    return valueBytes(root.getFieldVectors());
  }

  private static long valueBytes(List<FieldVector> vectors) {
    long bytes = 0;
    for (FieldVector vector : vectors) {
      bytes += ownBytes(vector) + valueBytes(vector.getChildrenFromFields());
    }
    return bytes;
  }

  private static long ownBytes(FieldVector vector) {
    long count = vector.getValueCount();
    if (vector instanceof BitVector) return (count + 7) / 8;
    if (vector instanceof BaseFixedWidthVector fixed) return count * fixed.getTypeWidth();
    if (vector instanceof BaseVariableWidthVector variable)
      return count * Integer.BYTES + variable.sizeOfValueBuffer();
    return vector instanceof ListVector ? count * Integer.BYTES : 0;
  }

  /** Writes the message of the batch and returns the number of its bytes. */
  long writeTo(WritableByteChannel out) throws IOException {
    WriteChannel channel = new WriteChannel(out);
    MessageSerializer.serialize(channel, batch);
    return channel.getCurrentPosition();
  }

  /** Returns the number of rows in all batches so far. */
  long rows() {
    return written;
  }

  private void release() {
    if (batch == null) return;
    batch.close();
    batch = null;
    writer.reset();
  }

  @Override
  public void close() {
    if (batch != null) batch.close();
    root.close();
    allocator.close();
  }

  /** Decimals are 64-bit numbers, or big-endian numbers of up to 16 bytes. */
  private static final class Decimals extends ArrowFieldWriter {
    private final DecimalVector vector;
    private final int precision;
    private final int scale;
    private final byte[] digits = new byte[DecimalVector.TYPE_WIDTH];

    Decimals(DecimalVector vector) {
      this.vector = vector;
      this.precision = vector.getPrecision();
      this.scale = vector.getScale();
    }

    @Override
    public ValueVector valueVector() {
      return vector;
    }

    @Override
    public void setNull() {
      vector.setNull(count());
    }

    @Override
    public void setValue(SpecializedGetters row, int ordinal) {
      if (!(row instanceof UnsafeRow unsafe)) {
        Decimal value = row.getDecimal(ordinal, precision, scale);
        if (value.changePrecision(precision, scale))
          vector.setSafe(count(), value.toJavaBigDecimal());
        else setNull();
      } else if (precision <= Decimal.MAX_LONG_DIGITS()) {
        vector.setSafe(count(), row.getLong(ordinal));
      } else {
        vector.setBigEndianSafe(count(), digits(unsafe, ordinal));
      }
    }

    /**
     * Returns `UnsafeRow.getBinary` with sign extension to 16 bytes, in an array that is reused.
     */
    private byte[] digits(UnsafeRow row, int ordinal) {
      long offsetAndSize = row.getLong(ordinal);
      int size = (int) offsetAndSize;
      if (size < 1 || size > DecimalVector.TYPE_WIDTH) return row.getBinary(ordinal);
      int before = DecimalVector.TYPE_WIDTH - size;
      Platform.copyMemory(
          row.getBaseObject(),
          row.getBaseOffset() + (offsetAndSize >>> 32),
          digits,
          Platform.BYTE_ARRAY_OFFSET + before,
          size);
      Arrays.fill(digits, 0, before, (byte) (digits[before] < 0 ? -1 : 0));
      return digits;
    }
  }

  private static final class Strings extends ArrowFieldWriter {
    private final VarCharVector vector;

    Strings(VarCharVector vector) {
      this.vector = vector;
    }

    @Override
    public ValueVector valueVector() {
      return vector;
    }

    @Override
    public void setNull() {
      vector.setNull(count());
    }

    @Override
    public void setValue(SpecializedGetters row, int ordinal) {
      UTF8String string = row.getUTF8String(ordinal);
      int length = string.numBytes();
      if (string.getBaseObject() instanceof byte[] bytes) {
        int start = (int) (string.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
        vector.setSafe(count(), bytes, start, length);
      } else { // off-heap memory
        vector.setSafe(count(), string.getBytes(), 0, length);
      }
    }
  }
}
