package deltagateway;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Tells the live rows of a scan from the others: a file's vector is a constant of the file, and each row is compared
 * with the next one in it. The rows of a deletion vector are those that are not live; of a vector that selects rows
 * they are those that are. A task has its own copy and reads its rows in their order, so that a row costs two
 * comparisons, and one of a file without a vector even less.
 *
 * Spark compiles the call into the loop over the rows; nothing else about the scan changes.
 */
public final class LiveRows implements Serializable {
  private final String root;
  private final Broadcast conf;
  private final boolean selects;

  private transient UTF8String descriptor;
  private transient UTF8String seen;
  private transient DeletionVector vector;
  private transient DeletionVector.Rows rows;
  private transient long start;
  private transient long next;

  LiveRows(String root, Broadcast conf, boolean selects) {
    this.root = root;
    this.conf = conf;
    this.selects = selects;
  }

  /** The condition that a row is live. */
  Expression condition(Attribute descriptor, Expression rowIndex) {
    List arguments = new ArrayList();
    arguments.add(descriptor);
    arguments.add(rowIndex);
    return new Invoke(
        Literal$.MODULE$.fromObject(this), "isLive", BooleanType$.MODULE$, Scala.seq(arguments),
        Scala.seq(new ArrayList()), false, false, true);
  }

  /** `row` is the physical index in the file; a file without a vector has no descriptor. */
  public boolean isLive(UTF8String descriptor, long row) {
    if (descriptor == null) return true;
    if (descriptor != seen) choose(descriptor);
    if (row < start || row > next) seek(row);
    if (row < next) return !selects;
    start = row + 1;
    next = rows.next();
    return selects;
  }

  /** A column of constants gives the same object for all rows of a file; a row that was copied gives its own. */
  private void choose(UTF8String asked) {
    seen = asked;
    if (asked.equals(descriptor)) return;
    descriptor = asked.clone();
    vector = DeletionVector.read(descriptor.toString(), new TableRoot(root), conf());
    start = Long.MAX_VALUE;
    next = Long.MIN_VALUE;
  }

  /** Parts of a file may be read alone, in any order, and pages of it may be skipped. */
  private void seek(long row) {
    rows = vector.from(row);
    start = row;
    next = rows.next();
  }

  private org.apache.hadoop.conf.Configuration conf() {
    return ((SerializableConfiguration) conf.value()).value();
  }

  public boolean equals(Object other) {
    if (!(other instanceof LiveRows)) return false;
    LiveRows that = (LiveRows) other;
    return selects == that.selects && that.root.equals(root);
  }

  public int hashCode() {
    return 2 * root.hashCode() + (selects ? 1 : 0);
  }

  public String toString() {
    return selects ? "SelectedRows" : "LiveRows";
  }
}
