package deltagateway.scan.deletionvectors;

import deltagateway.scan.TableRoot;
import deltagateway.scan.rowids.RowIndexCounter;
import java.io.Serializable;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Reads the live rows of files, see {@link LiveRowIterator}; the vectors are constants of the
 * files.
 */
public final class LiveRowReader extends scala.runtime.AbstractFunction1 implements Serializable {
  private final scala.Function1 reader;
  private final int descriptor;
  private final LiveRowIterator.Use use;
  private final int rowIndex;
  private final TableRoot root;
  private final Broadcast<SerializableConfiguration> conf;

  private transient UTF8String seen;
  private transient DeletionVector vector;

  /**
   * `reader` is Spark's; `descriptor` is the position among a file's constants, `rowIndex` among
   * its columns.
   */
  public LiveRowReader(
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader,
      int descriptor,
      LiveRowIterator.Use use,
      int rowIndex,
      TableRoot root,
      Broadcast<SerializableConfiguration> conf) {
    this.reader = reader;
    this.descriptor = descriptor;
    this.use = use;
    this.rowIndex = rowIndex;
    this.root = root;
    this.conf = conf;
  }

  public Object apply(Object file) {
    scala.collection.Iterator rows = (scala.collection.Iterator) reader.apply(file);
    UTF8String asked = ((PartitionedFile) file).partitionValues().getUTF8String(descriptor);
    RowIndexCounter.count(rows, rowIndex);
    return asked == null ? rows : new LiveRowIterator(rows, rowIndex, vector(asked), use);
  }

  /** A file that is read in parts is often read by one task. */
  private DeletionVector vector(UTF8String asked) {
    if (!asked.equals(seen)) {
      SerializableConfiguration configuration = conf.value();
      vector = DeletionVector.read(asked.toString(), root, configuration.value());
      seen = asked.clone();
    }
    return vector;
  }
}
