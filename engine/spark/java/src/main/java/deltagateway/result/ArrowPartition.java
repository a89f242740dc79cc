package deltagateway.result;

import deltagateway.protocol.StatementRequest;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.time.ZoneId;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import scala.Function2;
import scala.collection.Iterator;

/**
 * Writes the rows of one partition as Arrow record batch messages, without a schema message, on
 * executors.
 *
 * <p>Executors in the driver's process write all but small partitions to files, so that a result of
 * any size does not fill the heap. Others share no folder with the driver, which writes what they
 * send ({@link ResultReceiver}).
 */
public final class ArrowPartition
    implements Function2<TaskContext, Iterator<InternalRow>, ArrowPartition.Part>, Serializable {
  private static final long serialVersionUID = 1;
  private static final int ROWS_MAX = 65536;
  private static final int MEMORY_BYTES_MAX = 64 << 10;

  /** Bytes that an executor in another process sends at once, and a batch more. */
  private static final int SENT_BYTES = 1 << 20;

  private final StructType schema;
  private final String timeZone;
  private final long bytesMax;
  private final long rowsWanted;
  private final long bytesWanted;
  private final String folder;
  private final boolean isLocal;

  /**
   * `folder` is where the driver's process may write files; it is deleted with the statement. With
   * `isLocal`, the tasks are in that process too.
   */
  public ArrowPartition(
      StructType schema,
      String timeZone,
      StatementRequest request,
      String folder,
      boolean isLocal) {
    this.schema = schema;
    this.timeZone = timeZone;
    this.bytesMax = request.resultBytesMax;
    this.rowsWanted = request.rowsWanted;
    this.bytesWanted = request.bytesWanted;
    this.folder = folder;
    this.isLocal = isLocal;
  }

  @Override
  public Part apply(TaskContext task, Iterator<InternalRow> rows) {
    try {
      return write(rows, task, task.partitionId() + "." + task.taskAttemptId());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /**
   * Writes the rows to the end, or through the batch that exceeds the limit, so that the receiver
   * notices it, or until the partition alone has all wanted rows. `context` is null for collected
   * rows.
   */
  public Part write(Iterator<InternalRow> rows, TaskContext context, String name)
      throws IOException {
    ClientValues converter = ClientValues.of(schema, ZoneId.of(timeZone));
    StructType wireSchema = converter == null ? schema : (StructType) converter.type();
    ByteArrayOutputStream memory = new ByteArrayOutputStream();
    WritableByteChannel out = Channels.newChannel(memory);
    File file = null;
    String sent = null;
    boolean isHere = isLocal || context == null;
    long size = 0;
    long values = 0;
    boolean isComplete = false;
    int batchRowsMax = (int) Math.max(1, Math.min(ROWS_MAX, rowsWanted));
    try (ArrowBatchConverter batches =
        new ArrowBatchConverter(
            ClientValues.rows(rows, converter), wireSchema, timeZone, batchRowsMax)) {
      while (size <= bytesMax
          && batches.rows() < rowsWanted
          && values <= bytesWanted
          && batches.next()) {
        if (context != null) context.killTaskIfInterrupted();
        long before = file == null ? 0 : size;
        if (file == null && isHere && size + batches.size() > MEMORY_BYTES_MAX) {
          file = new File(folder, name);
          out = new FileOutputStream(file).getChannel();
          ByteBuffer written = ByteBuffer.wrap(memory.toByteArray());
          while (written.hasRemaining()) out.write(written);
        }
        values += batches.valueBytes();
        size += batches.writeTo(out);
        if (file != null) {
          int partition = context == null ? 0 : context.partitionId();
          ResultSpool.grown(folder, partition, file.getPath(), size - before, size);
        }
        if (!isHere && memory.size() > SENT_BYTES) sent = send(memory, name);
      }
      boolean isSent = sent != null || !isHere && memory.size() > MEMORY_BYTES_MAX;
      if (isSent && memory.size() > 0) sent = send(memory, name);
      isComplete = true;
      return new Part(
          file == null && !isSent ? memory.toByteArray() : null,
          file == null ? sent : file.getPath(),
          size,
          values,
          batches.rows());
    } finally {
      out.close();
      if (!isComplete && file != null) file.delete();
    }
  }

  private String send(ByteArrayOutputStream memory, String name) {
    String path = ResultReceiver.send(folder, name, memory.toByteArray());
    memory.reset();
    return path;
  }

  /**
   * Result of one partition: bytes, or the file with them, their number, how many of them are
   * values, and the number of rows.
   */
  public record Part(byte[] bytes, String path, long size, long values, long rows)
      implements Serializable {
    Part withoutBytes() {
      return new Part(null, path, size, values, rows);
    }
  }
}
