package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.LocalLimitExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.ResultQueryStageExec;
import org.apache.spark.sql.execution.adaptive.ShufflePartitionsUtil$;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.util.AccumulatorV2;

/**
 * How the rows of a shuffle are divided among the tasks that write files, so that each makes a file
 * of a given size.
 *
 * <p>Rows in a shuffle take once to many times what they take in Parquet, and only Parquet's writer
 * can tell how much that is. So when the rows are in the shuffle, and before they are written, some
 * of them are written to a file that is removed again. Its size, with the number of all rows in the
 * shuffle, says how many files there will be; the parts of the shuffle are then put together, or
 * split, into so many tasks of the same size. Dictionaries are counted apart: each file has them
 * once, however many rows.
 */
public final class OutputFileSizes {
  /**
   * Of the rows that are tried, in the shuffle: enough for pages of Parquet, and little beside what
   * is written.
   */
  private static final long SAMPLE_BYTES_MIN = 256L << 10;

  private static final long SAMPLE_BYTES_MAX = 8L << 20;
  private static final long SAMPLE_PART = 64L;
  private static final long SAMPLE_ROWS_MIN = 1000L;

  /** In the shuffle: less is not worth a task of its own. */
  private static final long TASK_BYTES_MIN = 4L << 20;

  /** How much more than its share a piece may take: outputs of mappers are not split. */
  private static final double PIECE_SLACK = 1.1;

  /**
   * Writes a plan's rows to files that are removed; answers their rows, and bytes in pages and in
   * dictionaries.
   */
  interface Trial {
    long[] measure(SparkPlan plan) throws Exception;
  }

  private final SparkPlan plan;
  private final ShuffleQueryStageExec stage;
  private final long[] bytes;
  private final long rows;
  private long sum;

  private OutputFileSizes(SparkPlan plan, ShuffleQueryStageExec stage) {
    this.plan = plan;
    this.stage = stage;
    this.bytes = stage.mapStats().get().bytesByPartitionId();
    AccumulatorV2<Object, Object> written =
        (AccumulatorV2<Object, Object>)
            ((SparkPlan) stage.shuffle()).metrics().apply("shuffleRecordsWritten");
    this.rows = ((Long) written.value()).longValue();
    for (int i = 0; i < bytes.length; i++) sum += bytes[i];
  }

  /**
   * `plan` with all stages run but the last, whose tasks make files of `target` bytes each where it
   * reads a shuffle.
   *
   * <p>`cores`: how many tasks there should be at least, where these need not make more files: rows
   * of one partition of the table are in one part of the shuffle. 1 for a table without partitions.
   */
  static SparkPlan divided(SparkPlan plan, long target, int cores, Trial trial) throws Exception {
    if (!(plan instanceof AdaptiveSparkPlanExec)) return plan;
    SparkPlan last = ((AdaptiveSparkPlanExec) plan).finalPhysicalPlan();
    if (last instanceof ResultQueryStageExec) last = ((ResultQueryStageExec) last).plan();
    List<SparkPlan> leaves = ScalaConversions.list(last.collectLeaves());
    if (leaves.size() != 1 || !(leaves.get(0) instanceof ShuffleQueryStageExec)) return plan;
    ShuffleQueryStageExec stage = (ShuffleQueryStageExec) leaves.get(0);
    boolean isOurs = stage.shuffle().shuffleOrigin().toString().startsWith("REBALANCE");
    if (!isOurs || stage.mapStats().isEmpty()) return plan;
    return new OutputFileSizes(last, stage).divided(target, cores, trial);
  }

  private SparkPlan divided(long target, int cores, Trial trial) throws Exception {
    if (rows == 0 || sum == 0) return plan;
    // Rows that are less than a file in the shuffle are hardly more in Parquet.
    long size = sum <= target ? sum : (long) (sum / Math.max(1.0, files(target, trial)));
    return reading(specs(size, Math.min(size, Math.max(sum / cores, TASK_BYTES_MIN))));
  }

  private double files(long target, Trial trial) throws Exception {
    long wanted = Math.min(Math.max(sum / SAMPLE_PART, SAMPLE_BYTES_MIN), SAMPLE_BYTES_MAX);
    long tried = Math.max(SAMPLE_ROWS_MIN, (long) ((double) wanted / sum * rows));
    int largest = 0;
    for (int i = 1; i < bytes.length; i++) if (bytes[i] > bytes[largest]) largest = i;
    List<CoalescedPartitionSpec> one = new ArrayList<>();
    one.add(whole(largest, largest + 1, bytes[largest]));
    long[] found =
        trial.measure(new LocalLimitExec((int) Math.min(tried, Integer.MAX_VALUE), reading(one)));
    if (found[0] == 0) return 1;
    long room = target - Math.min(found[2], target / 2);
    return Math.round((double) found[1] / found[0] * rows / room);
  }

  /**
   * Parts of the shuffle: neighbours together up to about `joint` bytes, and those above `size`
   * split by their mappers.
   */
  private List<CoalescedPartitionSpec> specs(long size, long joint) {
    List<CoalescedPartitionSpec> specs = new ArrayList<>();
    int start = 0;
    long held = 0;
    long done = 0;
    for (int i = 0; i < bytes.length; i++) {
      List<CoalescedPartitionSpec> pieces =
          bytes[i] > size + size / 2 ? pieces(i, size) : new ArrayList<>();
      // Ends are where all before makes so many files, so that what is over or short does not add
      // up to the last one.
      if (held > 0
          && (!pieces.isEmpty() || done + held + bytes[i] / 2 > (specs.size() + 1) * joint)) {
        specs.add(whole(start, i, held));
        start = i;
        done += held;
        held = 0;
      }
      if (pieces.isEmpty()) {
        held += bytes[i];
      } else {
        specs.addAll(pieces);
        start = i + 1;
        done += bytes[i];
      }
    }
    if (held > 0 || specs.isEmpty()) specs.add(whole(start, bytes.length, held));
    return specs;
  }

  /**
   * The pieces of one part that are as many as its size asks for, or none where it cannot be split.
   */
  private List<CoalescedPartitionSpec> pieces(int part, long size) {
    double even = (double) bytes[part] / Math.round((double) bytes[part] / size);
    scala.Option found =
        ShufflePartitionsUtil$.MODULE$.createSkewPartitionSpecs(
            stage.shuffle().shuffleId(), part, (long) Math.ceil(even * PIECE_SLACK), 0.5);
    return found.isDefined()
        ? ScalaConversions.list((scala.collection.Seq) found.get())
        : new ArrayList<>();
  }

  private static CoalescedPartitionSpec whole(int start, int end, long size) {
    return new CoalescedPartitionSpec(start, end, scala.Option.apply(Long.valueOf(size)));
  }

  private SparkPlan reading(final List specs) {
    final SparkPlan read = new AQEShuffleReadExec(stage, ScalaConversions.seq(specs));
    if (plan == stage) return read;
    return plan.transformUp(
        new scala.runtime.AbstractPartialFunction() {
          /**
           * The stage itself, and then Spark's own way to read it, which has `read` below it by
           * now.
           */
          public boolean isDefinedAt(Object node) {
            return node == stage
                || node instanceof AQEShuffleReadExec
                    && ((AQEShuffleReadExec) node).child() == read;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            return isDefinedAt(node) ? read : otherwise.apply(node);
          }
        });
  }
}
