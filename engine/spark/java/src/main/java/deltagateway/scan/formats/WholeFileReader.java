package deltagateway.scan.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * Reads files to their end, whatever size their table says they have.
 *
 * <p>Spark plans splits by that size, and a row group belongs to the split that its middle lies in:
 * where a writer recorded less than a file has, no split would read its last rows, and nobody would
 * be told. So the last split has no end.
 */
public final class WholeFileReader extends scala.runtime.AbstractFunction1 implements Serializable {
  private final scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader;

  WholeFileReader(scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader) {
    this.reader = reader;
  }

  public Object apply(Object split) {
    PartitionedFile file = (PartitionedFile) split;
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
