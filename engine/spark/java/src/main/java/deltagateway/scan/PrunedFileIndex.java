package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.ScanEstimate;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * An exact list of data files with constants, as a file index of Spark.
 *
 * <p>Guarantees: 1. No folder is listed and no name is parsed: files and constants are those of
 * {@link FileListing}. 2. Partition filters are applied here, because Spark does not evaluate them
 * again. 3. It has the id of its statement, by which {@link PlanGuard} recognizes it. 4. Two
 * indexes of one statement over the same files are equal, so that Spark can reuse exchanges.
 */
public final class PrunedFileIndex implements FileIndex {
  private static final long BLOCK_SIZE = 128L << 20;
  private static final Seq<Expression> NO_FILTERS = ScalaConversions.emptySeq();

  private final String statementId;
  private final StatementRequest.Scan scan;
  private final TableRoot root;
  private final FileListing listing;

  /** Null before {@link #estimated}; so are the keys. */
  private final ScanEstimate estimate;

  private final Set<Object> joinKeys;
  private final Set<Object> groupKeys;

  /** The number of distinct values of columns in one of the files ({@link DictionarySizes}). */
  private final Map<String, Long> counted;

  /** Columns whose minimum and maximum values the plan must not use. */
  private final Set<String> unbounded;

  public PrunedFileIndex(String statementId, StatementRequest.Scan scan, FileListing listing) {
    this(statementId, scan, listing, null, null, null, Map.of(), Set.of());
  }

  private PrunedFileIndex(
      String statementId,
      StatementRequest.Scan scan,
      FileListing listing,
      ScanEstimate estimate,
      Set<Object> joinKeys,
      Set<Object> groupKeys,
      Map<String, Long> counted,
      Set<String> unbounded) {
    this.statementId = statementId;
    this.scan = scan;
    this.root = scan.tableRoot();
    this.listing = listing;
    this.estimate = estimate;
    this.joinKeys = joinKeys;
    this.groupKeys = groupKeys;
    this.counted = counted;
    this.unbounded = unbounded;
  }

  /**
   * Returns an index of the same files with an estimate for those that match the filters, in a
   * query that joins and groups rows by the keys.
   */
  public PrunedFileIndex estimated(
      Seq<Expression> filters, Set<String> columns, Set<Object> joinKeys, Set<Object> groupKeys) {
    ScanEstimate found = listing.estimate(filters, columns);
    return new PrunedFileIndex(
        statementId, scan, listing, found, joinKeys, groupKeys, Map.of(), Set.of());
  }

  /**
   * Returns an index with the estimate of a cached plan, which is over tables of the same sizes.
   */
  public PrunedFileIndex estimatedAs(PrunedFileIndex cached) {
    return new PrunedFileIndex(
        statementId,
        scan,
        listing,
        cached.estimate,
        cached.joinKeys,
        cached.groupKeys,
        cached.counted,
        cached.unbounded);
  }

  /** Returns an index with counts of distinct values that are precise enough to order joins. */
  public PrunedFileIndex counted(Map<String, Long> counted) {
    return with(counted, unbounded);
  }

  /**
   * Returns an index for the rules after join reordering: without counts that are precise enough
   * for that alone. Counts of join keys stay, because too few distinct values only overestimate a
   * join.
   */
  public PrunedFileIndex ordered(Set<String> unbounded) {
    Map<String, Long> ofJoinKeys = new HashMap<>(counted);
    ofJoinKeys.keySet().retainAll(joinKeys);
    ofJoinKeys.keySet().removeAll(groupKeys);
    return with(ofJoinKeys, unbounded);
  }

  private PrunedFileIndex with(Map<String, Long> counted, Set<String> unbounded) {
    return new PrunedFileIndex(
        statementId, scan, listing, estimate, joinKeys, groupKeys, counted, unbounded);
  }

  /** See {@link #counted(Map)}. */
  public Map<String, Long> counted() {
    return counted;
  }

  /** See {@link #ordered}. */
  public Set<String> unbounded() {
    return unbounded;
  }

  /** Returns whether the query joins or groups rows by a column of an estimated scan. */
  public boolean isKey(String column) {
    return joinKeys.contains(column) || groupKeys.contains(column);
  }

  /** Returns whether the query joins rows by a column of an estimated scan. */
  public boolean isJoinKey(String column) {
    return joinKeys.contains(column);
  }

  /** Returns the estimate for the files that match the filters; null if there is none. */
  public ScanEstimate estimate() {
    return estimate;
  }

  public FileListing listing() {
    return listing;
  }

  public String statementId() {
    return statementId;
  }

  public StatementRequest.Scan scan() {
    return scan;
  }

  @Override
  public Seq<Path> rootPaths() {
    return ScalaConversions.seq(List.of(root.path()));
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    List<BasePredicate> predicates =
        ScalaConversions.list(partitionFilters).stream().map(this::bind).toList();
    ScanFiles files = listing.list(partitionFilters, dataFilters);
    List<PartitionDirectory> selected = new ArrayList<>();
    for (int group = 0; group < files.groups(); group++) {
      InternalRow constants = files.constants(group);
      if (predicates.stream().allMatch(predicate -> predicate.eval(constants)))
        selected.add(directory(files, group));
    }
    return ScalaConversions.seq(selected);
  }

  /** Returns the number and bytes of the files that match the filters, which it lists. */
  public long[] countListed(Seq<Expression> filters) {
    ScanFiles files = listing.list(filters, NO_FILTERS);
    long bytes = 0;
    for (int i = 0; i < files.count(); i++) bytes += files.size(i);
    return new long[] {files.count(), bytes};
  }

  /**
   * Returns the number and bytes of the files that match the filters, before dynamic file pruning.
   */
  public long[] count(Seq<Expression> filters) {
    ScanEstimate found = estimate == null ? listing.estimate(filters, List.of()) : estimate;
    return new long[] {found.files, found.bytes};
  }

  private BasePredicate bind(Expression filter) {
    BasePredicate predicate =
        Predicate.createInterpreted(filter.transform(ScalaConversions.rewrite(this::constant)));
    predicate.initialize(0);
    return predicate;
  }

  /** Returns the position in the row of constants for the name of one. */
  private Expression constant(Expression node) {
    if (!(node instanceof AttributeReference column)) return node;
    for (int i = 0; i < scan.constants.length(); i++) {
      if (scan.constants.fields()[i].name().equalsIgnoreCase(column.name()))
        return new BoundReference(i, scan.constants.fields()[i].dataType(), true);
    }
    throw new IllegalArgumentException("not a constant of this scan: " + column.name());
  }

  private PartitionDirectory directory(ScanFiles files, int group) {
    FileStatus[] statuses =
        Arrays.stream(files.members(group))
            .mapToObj(
                file ->
                    new FileStatus(
                        files.size(file),
                        false,
                        1,
                        BLOCK_SIZE,
                        files.modificationTime(file),
                        root.resolve(files.path(file))))
            .toArray(FileStatus[]::new);
    return PartitionDirectory.apply(files.constants(group), statuses);
  }

  /** Returns all files, for schema inference before the query is planned. Links are followed. */
  Seq<FileStatus> statuses() {
    ScanFiles files = listing.list(NO_FILTERS, NO_FILTERS);
    List<FileStatus> all = new ArrayList<>();
    for (int group = 0; group < files.groups(); group++) {
      for (FileStatusWithMetadata file : ScalaConversions.list(directory(files, group).files())) {
        root.ensureReal(file.getPath());
        all.add(file.fileStatus());
      }
    }
    return ScalaConversions.seq(all);
  }

  @Override
  public String[] inputFiles() {
    ScanFiles files = listing.list(NO_FILTERS, NO_FILTERS);
    String[] paths = new String[files.count()];
    for (int i = 0; i < paths.length; i++)
      paths[i] = root.resolve(files.path(i)).toUri().toString();
    return paths;
  }

  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    return estimate == null ? scan.bytes : Math.max(estimate.bytes, 1);
  }

  @Override
  public StructType partitionSchema() {
    return scan.constants;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PrunedFileIndex that
        && statementId.equals(that.statementId)
        && scan.source == that.scan.source;
  }

  @Override
  public int hashCode() {
    return 31 * statementId.hashCode() + scan.source;
  }
}
