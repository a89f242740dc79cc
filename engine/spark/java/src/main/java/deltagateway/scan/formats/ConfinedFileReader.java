package deltagateway.scan.formats;

import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * Reads files that really lie where their table's may: links are followed where a file is opened,
 * see {@link TableRoot}.
 */
public final class ConfinedFileReader extends scala.runtime.AbstractFunction1
    implements Serializable {
  private final scala.Function1 reader;
  private final TableRoot root;
  private final VolumePaths places;

  /** `places` is null for files that are not in a volume. */
  ConfinedFileReader(
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader,
      TableRoot root,
      VolumePaths places) {
    this.reader = reader;
    this.root = root;
    this.places = places;
  }

  public Object apply(Object file) {
    root.ensureReal(((PartitionedFile) file).toPath());
    if (places != null) places.tell((PartitionedFile) file);
    return reader.apply(file);
  }
}
