package deltagateway.scan.formats;

import deltagateway.scan.objectstore.FileTail;
import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Reads files whose lengths are known from their table's metadata, see {@link VectoredFileSystem}.
 */
public final class KnownLengthReader extends scala.runtime.AbstractFunction1
    implements Serializable {
  private final scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader;

  KnownLengthReader(
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader) {
    this.reader = reader;
  }

  public Object apply(Object split) {
    PartitionedFile file = (PartitionedFile) split;
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener(
          new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext ended) {
              FileTail.end();
            }
          });
      FileTail.begin(task.stageId(), file.toPath(), file.fileSize(), file.modificationTime());
    }
    return reader.apply(file);
  }
}
