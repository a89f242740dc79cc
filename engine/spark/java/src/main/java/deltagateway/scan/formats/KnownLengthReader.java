package deltagateway.scan.formats;

import deltagateway.scan.objectstore.FileTail;
import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function1;
import scala.collection.Iterator;

/**
 * Reads files whose lengths are known from their table's metadata ({@link
 * deltagateway.scan.objectstore.VectoredFileSystem}).
 */
record KnownLengthReader(Function1<PartitionedFile, Iterator<InternalRow>> reader)
    implements Function1<PartitionedFile, Iterator<InternalRow>>, Serializable {
  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    TaskContext task = TaskContext.get();
    if (task != null) {
      TaskCompletionListener end = ended -> FileTail.end();
      task.addTaskCompletionListener(end);
      FileTail.begin(task.stageId(), file.toPath(), file.fileSize(), file.modificationTime());
    }
    return reader.apply(file);
  }
}
