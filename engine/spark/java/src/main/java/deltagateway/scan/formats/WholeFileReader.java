package deltagateway.scan.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.Iterator;

/**
 * Reads files to their end, whatever size the log has for them.
 *
 * <p>Spark plans splits by that size, and a row group belongs to the split that contains its
 * middle. If a writer recorded too small a size, no split would read the last rows, without an
 * error. So the last split has no end.
 */
record WholeFileReader(Function1<PartitionedFile, Iterator<InternalRow>> reader)
    implements Function1<PartitionedFile, Iterator<InternalRow>>, Serializable {
  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    if (file.start() + file.length() < file.fileSize()) return reader.apply(file);
    return reader.apply(
        file.copy(
            file.partitionValues(),
            file.filePath(),
            file.start(),
            Long.MAX_VALUE - file.start(),
            file.locations(),
            file.modificationTime(),
            file.fileSize(),
            file.otherConstantMetadataColumnValues()));
  }
}
