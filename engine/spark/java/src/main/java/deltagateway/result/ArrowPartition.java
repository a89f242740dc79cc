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

/**
 * Runs on executors: the rows of one partition as Arrow record batch messages, without a schema
 * message.
 *
 * <p>Executors of the driver's own process write more than a little to a file, so that a result of
 * any size passes without going through the heap; others have no folder in common with the driver
 * and send bytes.
 */
public final class ArrowPartition extends scala.runtime.AbstractFunction2 implements Serializable {
  private static final int ROWS_MAX = 16384;
  private static final int MEMORY_MAX = 64 << 10;

  private final StructType schema;
  private final String timeZone;
  private final long bytesMax;
  private final long rowsWanted;
  private final long bytesWanted;
  private final String folder;

  /** `folder` is where files may be written, null for nowhere; it is gone when the statement is. */
  public ArrowPartition(
      StructType schema, String timeZone, StatementRequest request, String folder) {
    this.schema = schema;
    this.timeZone = timeZone;
    this.bytesMax = request.resultBytesMax;
    this.rowsWanted = request.rowsWanted;
    this.bytesWanted = request.bytesWanted;
    this.folder = folder;
  }

  public Object apply(Object context, Object rows) {
    TaskContext task = (TaskContext) context;
    try {
      return write(
          (scala.collection.Iterator<InternalRow>) rows,
          task,
          task.partitionId() + "." + task.taskAttemptId());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /**
   * Stops behind the batch that passes the limit, so that the receiver sees the limit passed; and
   * where the partition alone has all rows that are wanted.
   */
  public Part write(scala.collection.Iterator<InternalRow> rows, TaskContext context, String name)
      throws IOException {
    ClientValues converter = ClientValues.of(schema, ZoneId.of(timeZone));
    StructType wireSchema = converter == null ? schema : (StructType) converter.type();
    ArrowBatchConverter batches =
        new ArrowBatchConverter(
            ClientValues.rows(rows, converter),
            wireSchema,
            timeZone,
            (int) Math.max(1, Math.min(ROWS_MAX, rowsWanted)));
    ByteArrayOutputStream memory = new ByteArrayOutputStream();
    WritableByteChannel out = Channels.newChannel(memory);
    File file = null;
    long size = 0;
    long values = 0;
    long counted = 0;
    boolean complete = false;
    try {
      while (size <= bytesMax
          && batches.rows() < rowsWanted
          && values <= bytesWanted
          && batches.next()) {
        if (context != null) context.killTaskIfInterrupted();
        if (file == null && folder != null && size + batches.size() > MEMORY_MAX) {
          file = new File(folder, name);
          out = new FileOutputStream(file).getChannel();
          for (ByteBuffer before = ByteBuffer.wrap(memory.toByteArray()); before.hasRemaining(); )
            out.write(before);
        }
        values += batches.valueBytes();
        size += batches.writeTo(out);
        if (file != null) {
          int partition =
              context == null ? 0 : context.partitionId(); // what was collected is a part by itself
          ResultSpool.grown(folder, partition, file.getPath(), size - counted, size);
          counted = size;
        }
      }
      complete = true;
    } finally {
      try {
        batches.close();
      } finally {
        out.close();
        if (!complete && file != null) file.delete();
      }
    }
    return file == null
        ? new Part(memory.toByteArray(), null, size, values, batches.rows())
        : new Part(null, file.getPath(), size, values, batches.rows());
  }

  /**
   * What one partition gave: bytes, or the file that holds them, how many are of values, and the
   * number of its rows.
   */
  public static final class Part implements Serializable {
    final byte[] bytes;
    final String path;
    final long size;
    final long values;
    final long rows;

    Part(byte[] bytes, String path, long size, long values, long rows) {
      this.bytes = bytes;
      this.path = path;
      this.size = size;
      this.values = values;
      this.rows = rows;
    }
  }
}
