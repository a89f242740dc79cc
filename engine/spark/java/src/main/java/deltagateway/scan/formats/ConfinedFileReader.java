package deltagateway.scan.formats;

import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.Iterator;

/**
 * Reads files that are located where their table's may be. Links are followed when a file is opened
 * ({@link TableRoot#ensureReal}). `volumePaths` is null for files that are not in a volume.
 */
record ConfinedFileReader(
    Function1<PartitionedFile, Iterator<InternalRow>> reader,
    TableRoot root,
    VolumePaths volumePaths)
    implements Function1<PartitionedFile, Iterator<InternalRow>>, Serializable {
  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    root.ensureReal(file.toPath());
    if (volumePaths != null) volumePaths.setInputFile(file);
    return reader.apply(file);
  }
}
