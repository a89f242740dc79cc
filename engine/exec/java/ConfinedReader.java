package deltagateway;

import java.io.Serializable;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** Reads files that really lie where their table's may: links are followed where a file is opened, see {@link TableRoot}. */
final class ConfinedReader extends scala.runtime.AbstractFunction1 implements Serializable {
  private final scala.Function1 reader;
  private final TableRoot root;

  ConfinedReader(scala.Function1 reader, TableRoot root) {
    this.reader = reader;
    this.root = root;
  }

  public Object apply(Object file) {
    root.ensureReal(((PartitionedFile) file).toPath());
    return reader.apply(file);
  }
}
