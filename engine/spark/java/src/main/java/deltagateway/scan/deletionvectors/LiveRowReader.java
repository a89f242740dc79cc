package deltagateway.scan.deletionvectors;

import deltagateway.scan.ErasedIterators;
import deltagateway.scan.TableRoot;
import deltagateway.scan.rowids.RowIndexCounter;
import java.io.Serializable;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.collection.Iterator;

/** Reads the live rows of files ({@link LiveRowIterator}); vectors are constants of the files. */
public final class LiveRowReader
    implements Function1<PartitionedFile, Iterator<InternalRow>>, Serializable {
  private static final long serialVersionUID = 1;

  private final Function1<PartitionedFile, Iterator<InternalRow>> reader;
  private final int descriptor;
  private final LiveRowIterator.Use use;
  private final int rowIndex;
  private final TableRoot root;
  private final Broadcast<SerializableConfiguration> conf;

  /** The last vector: one task often reads several splits of a file. */
  private transient UTF8String vectorDescriptor;

  private transient DeletionVector vector;

  /**
   * `reader` is Spark's; `descriptor` is the position in a file's constants, `rowIndex` in its
   * columns.
   */
  public LiveRowReader(
      Function1<PartitionedFile, Iterator<InternalRow>> reader,
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

  @Override
  public Iterator<InternalRow> apply(PartitionedFile file) {
    Iterator<InternalRow> rows = reader.apply(file);
    RowIndexCounter.count(rows, rowIndex);
    UTF8String ofFile = file.partitionValues().getUTF8String(descriptor);
    if (ofFile == null) return rows;
    return ErasedIterators.as(new LiveRowIterator(rows, rowIndex, vector(ofFile), use));
  }

  private DeletionVector vector(UTF8String ofFile) {
    if (!ofFile.equals(vectorDescriptor)) {
      vector = DeletionVector.read(ofFile.toString(), root, conf.value().value());
      vectorDescriptor = ofFile.clone();
    }
    return vector;
  }
}
