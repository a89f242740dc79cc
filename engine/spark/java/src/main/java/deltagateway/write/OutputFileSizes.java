package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.LocalLimitExec;
import org.apache.spark.sql.execution.PartialReducerPartitionSpec;
import org.apache.spark.sql.execution.ShufflePartitionSpec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.ResultQueryStageExec;
import org.apache.spark.sql.execution.adaptive.ShufflePartitionsUtil$;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Distributes the rows of a shuffle to the tasks that write files, so that each writes a file of a
 * given size.
 *
 * <p>Rows in a shuffle take once to many times their size in Parquet, and only Parquet's writer can
 * measure that. So when the rows are in the shuffle, a sample of them is written to a file, which
 * is removed again. Its size and the number of rows in the shuffle determine the number of files.
 * The shuffle's partitions are then coalesced or split into as many tasks of equal size.
 * Dictionaries are counted apart: each file has them once, for any number of rows.
 */
final class OutputFileSizes {
  /** Bytes of a sample in the shuffle: enough for pages of Parquet, and little for the write. */
  private static final long SAMPLE_BYTES_MIN = 256L << 10;

  private static final long SAMPLE_BYTES_MAX = 8L << 20;
  private static final long SAMPLE_FRACTION = 64;
  private static final long SAMPLE_ROWS_MIN = 1000;

  /** Bytes in the shuffle that are worth a task. */
  private static final long TASK_BYTES_MIN = 4L << 20;

  /** How much more than its share a split may have: outputs of mappers are not split. */
  private static final double SPLIT_SLACK = 1.1;

  /** A split that has less than this share of its size is merged into its neighbor. */
  private static final double SMALL_SPLIT = 0.5;

  /** Rows in files, and their bytes in pages and in dictionaries. */
  record Sample(long rows, long pageBytes, long dictionaryBytes) {}

  /** Writes a plan's rows to files, which are removed. */
  interface Sampler {
    Sample sample(SparkPlan plan) throws Exception;
  }

  private final SparkPlan plan;
  private final ShuffleQueryStageExec stage;
  private final long[] bytes;
  private final long rows;
  private final long sum;

  private OutputFileSizes(SparkPlan plan, ShuffleQueryStageExec stage) {
    this.plan = plan;
    this.stage = stage;
    this.bytes = stage.mapStats().get().bytesByPartitionId();
    this.rows = ((SparkPlan) stage.shuffle()).metrics().apply("shuffleRecordsWritten").value();
    this.sum = Arrays.stream(bytes).sum();
  }

  /**
   * Runs all stages but the last, whose tasks write files of `target` bytes if it reads a shuffle.
   *
   * <p>`cores` is the number of tasks to have at least, unless these would write more files: rows
   * of one partition of the table are in one partition of the shuffle. It is 1 for a table without
   * partitions.
   */
  static SparkPlan divided(SparkPlan plan, long target, int cores, Sampler sampler)
      throws Exception {
    if (!(plan instanceof AdaptiveSparkPlanExec adaptive)) return plan;
    SparkPlan last = adaptive.finalPhysicalPlan();
    if (last instanceof ResultQueryStageExec result) last = result.plan();
    List<SparkPlan> leaves = ScalaConversions.list(last.collectLeaves());
    if (leaves.size() != 1 || !(leaves.get(0) instanceof ShuffleQueryStageExec stage)) return plan;
    boolean isRebalanced = stage.shuffle().shuffleOrigin().toString().startsWith("REBALANCE");
    if (!isRebalanced || stage.mapStats().isEmpty()) return plan;
    return new OutputFileSizes(last, stage).divided(target, cores, sampler);
  }

  private SparkPlan divided(long target, int cores, Sampler sampler) throws Exception {
    if (rows == 0 || sum == 0) return plan;
    // Rows that are smaller than a file in the shuffle are hardly larger in Parquet.
    long size = sum <= target ? sum : (long) (sum / Math.max(1.0, files(target, sampler)));
    return reading(specs(size, Math.min(size, Math.max(sum / cores, TASK_BYTES_MIN))));
  }

  private double files(long target, Sampler sampler) throws Exception {
    long wanted = Math.min(Math.max(sum / SAMPLE_FRACTION, SAMPLE_BYTES_MIN), SAMPLE_BYTES_MAX);
    long sampled = Math.max(SAMPLE_ROWS_MIN, (long) ((double) wanted / sum * rows));
    int largest = 0;
    for (int i = 1; i < bytes.length; i++) if (bytes[i] > bytes[largest]) largest = i;
    SparkPlan source = reading(List.of(whole(largest, largest + 1, bytes[largest])));
    Sample found =
        sampler.sample(new LocalLimitExec((int) Math.min(sampled, Integer.MAX_VALUE), source));
    if (found.rows == 0) return 1;
    long room = target - Math.min(found.dictionaryBytes, target / 2);
    return Math.round((double) found.pageBytes / found.rows * rows / room);
  }

  /**
   * Returns parts of the shuffle: neighbors together up to about `joint` bytes, and partitions
   * above `size` split by their mappers.
   */
  private List<ShufflePartitionSpec> specs(long size, long joint) {
    List<ShufflePartitionSpec> specs = new ArrayList<>();
    int start = 0;
    long held = 0;
    long done = 0;
    for (int i = 0; i < bytes.length; i++) {
      List<PartialReducerPartitionSpec> splits =
          bytes[i] > size + size / 2 ? splits(i, size) : List.of();
      // The end is chosen by all bytes so far, so that differences do not add up to the last file.
      if (held > 0
          && (!splits.isEmpty() || done + held + bytes[i] / 2 > (specs.size() + 1) * joint)) {
        specs.add(whole(start, i, held));
        start = i;
        done += held;
        held = 0;
      }
      if (splits.isEmpty()) {
        held += bytes[i];
      } else {
        specs.addAll(splits);
        start = i + 1;
        done += bytes[i];
      }
    }
    if (held > 0 || specs.isEmpty()) specs.add(whole(start, bytes.length, held));
    return specs;
  }

  /** Returns the splits of one partition, or none if it cannot be split. */
  private List<PartialReducerPartitionSpec> splits(int partition, long size) {
    double even = (double) bytes[partition] / Math.round((double) bytes[partition] / size);
    Option<Seq<PartialReducerPartitionSpec>> found =
        ShufflePartitionsUtil$.MODULE$.createSkewPartitionSpecs(
            stage.shuffle().shuffleId(),
            partition,
            (long) Math.ceil(even * SPLIT_SLACK),
            SMALL_SPLIT);
    return found.isDefined() ? ScalaConversions.list(found.get()) : List.of();
  }

  private static CoalescedPartitionSpec whole(int start, int end, long size) {
    return new CoalescedPartitionSpec(start, end, Option.apply(size));
  }

  private SparkPlan reading(List<ShufflePartitionSpec> specs) {
    SparkPlan read = new AQEShuffleReadExec(stage, ScalaConversions.seq(specs));
    if (plan == stage) return read;
    // Replaces the stage, and then Spark's own read of it, which has `read` as its child by then.
    return plan.transformUp(
        ScalaConversions.rewrite(
            node ->
                node == stage || node instanceof AQEShuffleReadExec other && other.child() == read
                    ? read
                    : node));
  }
}
