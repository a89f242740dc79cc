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

/**
 * Rows as Arrow record batch messages, as Spark's own converter makes them (ArrowConverters.scala),
 * in less time: the digits of decimals and the bytes of strings are copied from where a row has
 * them, without objects in between, and a message goes into the file from the memory of its
 * columns.
 */
public final class ArrowBatchConverter implements AutoCloseable {
  /**
   * About where a batch ends, since it is read as a whole; rows that were converted are not
   * counted.
   */
  private static final long BYTES_MAX = 4 << 20;

  /** Nested columns have memory for so many rows from the start, which grows. */
  private static final int NESTED_ROWS = 16;

  private final scala.collection.Iterator<InternalRow> rows;
  private final int rowsMax;
  private final BufferAllocator allocator;
  private final VectorSchemaRoot root;
  private final VectorUnloader unloader;
  private final ArrowWriter writer;
  private ArrowRecordBatch batch;
  private long written;

  ArrowBatchConverter(
      scala.collection.Iterator<InternalRow> rows,
      StructType schema,
      String timeZone,
      int rowsMax) {
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
   * Allocates lists that may never have a value. Else Arrow takes one empty buffer for all of them,
   * in all threads: one sets its length to that of the first offset, another back to 0. Then
   * offsets are missing in the message, which ends processes that read it by pyarrow's `nbytes`, or
   * the message cannot be written.
   */
  private static void allocateNested(List<FieldVector> vectors) {
    for (FieldVector vector : vectors) {
      if (vector.getChildrenFromFields().isEmpty()) continue;
      vector.setInitialCapacity(NESTED_ROWS);
      vector.allocateNew();
    }
  }

  private static ArrowFieldWriter[] columns(List<FieldVector> vectors) {
    ArrowFieldWriter[] columns = new ArrowFieldWriter[vectors.size()];
    for (int i = 0; i < columns.length; i++) {
      FieldVector vector = vectors.get(i);
      if (vector instanceof DecimalVector) columns[i] = new Decimals((DecimalVector) vector);
      else if (vector instanceof VarCharVector) columns[i] = new Texts((VarCharVector) vector);
      else columns[i] = ArrowWriter$.MODULE$.createFieldWriter(vector);
    }
    return columns;
  }

  /** Makes the next batch; false where no rows are left. */
  boolean next() {
    release();
    if (!rows.hasNext()) return false;
    int count = 0;
    long bytes = 0;
    do {
      InternalRow row = rows.next();
      writer.write(row);
      written++;
      if (row instanceof UnsafeRow) bytes += ((UnsafeRow) row).getSizeInBytes();
    } while (++count < rowsMax && bytes < BYTES_MAX && rows.hasNext());
    writer.finish();
    batch = unloader.getRecordBatch();
    if (batch.getLength()
        != count) { // rows of the batch before, say: better no result than one with other rows
      throw new IllegalStateException(
          batch.getLength() + " rows are in a batch that was made of " + count);
    }
    return true;
  }

  /** About how many bytes the message of the batch has. */
  long size() {
    return batch.computeBodyLength();
  }

  /**
   * How many bytes of values the batch has: never more than who reads it counts
   * (engine/types/value_bytes.py), who ends a result by that count. So there is no padding in it,
   * no bits that say which values are null, since the reader drops them where none is, and one
   * offset for each text or list.
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
    if (vector instanceof BaseFixedWidthVector)
      return count * ((BaseFixedWidthVector) vector).getTypeWidth();
    if (vector instanceof BaseVariableWidthVector) {
      return count * Integer.BYTES + ((BaseVariableWidthVector) vector).sizeOfValueBuffer();
    }
    return vector instanceof ListVector ? count * Integer.BYTES : 0;
  }

  /** Writes the message of the batch; the number of its bytes. */
  long writeTo(WritableByteChannel out) throws IOException {
    WriteChannel channel = new WriteChannel(out);
    MessageSerializer.serialize(channel, batch);
    return channel.getCurrentPosition();
  }

  /** How many rows are in all batches so far. */
  long rows() {
    return written;
  }

  private void release() {
    if (batch == null) return;
    batch.close();
    batch = null;
    writer.reset();
  }

  public void close() {
    if (batch != null) batch.close();
    root.close();
    allocator.close();
  }

  /** The digits are a number of 64 bits, or of as many bytes as it takes, the highest first. */
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

    public ValueVector valueVector() {
      return vector;
    }

    public void setNull() {
      vector.setNull(count());
    }

    public void setValue(SpecializedGetters row, int ordinal) {
      if (!(row instanceof UnsafeRow)) {
        Decimal value = row.getDecimal(ordinal, precision, scale);
        if (value.changePrecision(precision, scale))
          vector.setSafe(count(), value.toJavaBigDecimal());
        else setNull();
      } else if (precision <= Decimal.MAX_LONG_DIGITS()) {
        vector.setSafe(count(), row.getLong(ordinal));
      } else {
        vector.setBigEndianSafe(count(), digits((UnsafeRow) row, ordinal));
      }
    }

    /** As `UnsafeRow.getBinary`, in all bytes that there may be. The array is used again. */
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

  private static final class Texts extends ArrowFieldWriter {
    private final VarCharVector vector;

    Texts(VarCharVector vector) {
      this.vector = vector;
    }

    public ValueVector valueVector() {
      return vector;
    }

    public void setNull() {
      vector.setNull(count());
    }

    public void setValue(SpecializedGetters row, int ordinal) {
      UTF8String text = row.getUTF8String(ordinal);
      Object base = text.getBaseObject();
      int length = text.numBytes();
      if (base instanceof byte[]) {
        vector.setSafe(
            count(),
            (byte[]) base,
            (int) (text.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET),
            length);
      } else { // in memory that Java does not manage
        vector.setSafe(count(), text.getBytes(), 0, length);
      }
    }
  }
}
