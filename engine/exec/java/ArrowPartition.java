package deltagateway;

import java.io.Serializable;
import java.time.ZoneId;
import java.util.ArrayList;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.types.StructType;

/** Runs on executors: the rows of one partition as Arrow record batch messages, without a schema message. */
public final class ArrowPartition extends scala.runtime.AbstractFunction2 implements Serializable {
  private static final long ROWS_MAX = 16384;

  private final StructType schema;
  private final String timeZone;
  private final long bytesMax;

  ArrowPartition(StructType schema, String timeZone, long bytesMax) {
    this.schema = schema;
    this.timeZone = timeZone;
    this.bytesMax = bytesMax;
  }

  public Object apply(Object context, Object rows) {
    return batches((scala.collection.Iterator) rows, (TaskContext) context);
  }

  /** Stops behind the batch that passes the limit, so that the receiver sees the limit passed. */
  byte[][] batches(scala.collection.Iterator rows, TaskContext context) {
    WireValues converter = WireValues.of(schema, ZoneId.of(timeZone));
    StructType wireSchema = converter == null ? schema : (StructType) converter.type();
    scala.collection.Iterator source = ArrowConverters$.MODULE$.toBatchIterator(
        WireValues.rows(rows, converter), wireSchema, ROWS_MAX, timeZone, false, false, context);
    ArrayList batches = new ArrayList();
    long size = 0;
    while (size <= bytesMax && source.hasNext()) {
      byte[] batch = (byte[]) source.next();
      size += batch.length;
      batches.add(batch);
    }
    return (byte[][]) batches.toArray(new byte[batches.size()][]);
  }
}
