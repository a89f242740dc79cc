package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.ScanEstimate;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * An exact list of data files, each with constants, as Spark's file sources see it.
 *
 * <p>Guarantees: 1. Nothing is listed and no name is interpreted: the files are those of {@link
 * FileListing}, the constants too. 2. Partition filters are applied here, for Spark does not
 * evaluate them again. 3. It carries the id of its statement, so that {@link PlanGuard} can tell it
 * from any other relation. 4. Two indexes of one statement over the same files are equal, so that
 * Spark can reuse exchanges.
 */
public final class PrunedFileIndex implements FileIndex {
  private static final long BLOCK_SIZE = 128L << 20;
  private static final Map<String, Long> NOTHING_COUNTED = Collections.emptyMap();
  private static final scala.collection.immutable.Seq<Expression> NO_FILTERS =
      ScalaConversions.seq(new ArrayList<>());

  private final String statementId;
  private final StatementRequest.Scan scan;
  private final TableRoot root;
  private final FileListing listing;
  private final ScanEstimate estimate;
  private final Set<Object> joinKeys;
  private final Set<Object> groupKeys;

  /** Column -> how many of its values differ in one of the files ({@link DictionarySizes}). */
  private final Map<String, Long> counted;

  /** Columns of which the plan is not to know between which bounds they are. */
  private final Set<String> unbounded;

  public PrunedFileIndex(String statementId, StatementRequest.Scan scan, FileListing listing) {
    this(statementId, scan, listing, null, null, null, NOTHING_COUNTED, Collections.emptySet());
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
   * The same files, with what is known of those that filters leave, in a query that joins or groups
   * rows by columns.
   */
  public PrunedFileIndex estimated(
      scala.collection.immutable.Seq<Expression> filters,
      Set<String> columns,
      Set<Object> joinKeys,
      Set<Object> groupKeys) {
    ScanEstimate found = listing.estimate(filters, columns);
    return new PrunedFileIndex(
        statementId,
        scan,
        listing,
        found,
        joinKeys,
        groupKeys,
        NOTHING_COUNTED,
        Collections.emptySet());
  }

  /**
   * With what is known of those of a plan that was kept: it was made of tables of the same sizes.
   */
  public PrunedFileIndex estimatedAs(PrunedFileIndex before) {
    return new PrunedFileIndex(
        statementId,
        scan,
        listing,
        before.estimate,
        before.joinKeys,
        before.groupKeys,
        before.counted,
        before.unbounded);
  }

  /** With numbers that are good enough to order joins by. */
  public PrunedFileIndex counted(Map<String, Long> counted) {
    return with(counted, unbounded);
  }

  /**
   * For all that comes after joins are ordered: without what is good enough for that alone. Too few
   * values of a column by which rows are joined are: the rows of the join are taken to be more than
   * they are.
   */
  public PrunedFileIndex ordered(Set<String> unbounded) {
    Map<String, Long> left = new HashMap<>(counted);
    left.keySet().retainAll(joinKeys);
    left.keySet().removeAll(groupKeys);
    return with(left, unbounded);
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

  /** Whether rows are joined or grouped by a column of an estimated scan. */
  public boolean isKey(String column) {
    return joinKeys.contains(column) || groupKeys.contains(column);
  }

  /** Whether rows are joined by it. */
  public boolean isJoinKey(String column) {
    return joinKeys.contains(column);
  }

  /** Of the files that the filters leave; null where nothing was asked. */
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

  public scala.collection.immutable.Seq<Path> rootPaths() {
    return ScalaConversions.seq(Arrays.asList(root.path()));
  }

  public scala.collection.immutable.Seq<PartitionDirectory> listFiles(
      scala.collection.immutable.Seq<Expression> partitionFilters,
      scala.collection.immutable.Seq<Expression> dataFilters) {
    BasePredicate[] predicates = new BasePredicate[partitionFilters.size()];
    for (int i = 0; i < predicates.length; i++) predicates[i] = bind(partitionFilters.apply(i));
    ScanFiles files = listing.list(partitionFilters, dataFilters);
    ArrayList<PartitionDirectory> kept = new ArrayList<>();
    for (int group = 0; group < files.groups(); group++) {
      boolean wanted = true;
      for (int i = 0; wanted && i < predicates.length; i++)
        wanted = predicates[i].eval(files.constants(group));
      if (wanted) kept.add(directory(files, group));
    }
    return ScalaConversions.seq(kept);
  }

  /** The number and bytes of the files that will be asked for by the filters, and by no others. */
  public long[] countListed(scala.collection.immutable.Seq<Expression> filters) {
    ScanFiles files = listing.list(filters, NO_FILTERS);
    long bytes = 0;
    for (int i = 0; i < files.count(); i++) bytes += files.size(i);
    return new long[] {files.count(), bytes};
  }

  /**
   * The number and bytes of the files that the filters leave, of which a join may leave out more.
   */
  public long[] count(scala.collection.immutable.Seq<Expression> filters) {
    ScanEstimate known = estimate == null ? listing.estimate(filters, new ArrayList<>()) : estimate;
    return new long[] {known.files, known.bytes};
  }

  private BasePredicate bind(Expression filter) {
    Expression bound = filter.transform(new Binder(scan.constants.fields()));
    BasePredicate predicate = Predicate.createInterpreted(bound);
    predicate.initialize(0);
    return predicate;
  }

  private PartitionDirectory directory(ScanFiles files, int group) {
    int[] members = files.members(group);
    FileStatus[] statuses = new FileStatus[members.length];
    for (int i = 0; i < members.length; i++) {
      int file = members[i];
      statuses[i] =
          new FileStatus(
              files.size(file),
              false,
              1,
              BLOCK_SIZE,
              files.modificationTime(file),
              root.resolve(files.path(file)));
    }
    return PartitionDirectory.apply(files.constants(group), statuses);
  }

  /** All files, for those who look into them before anything is planned. Links are followed. */
  scala.collection.immutable.Seq<FileStatus> statuses() {
    ScanFiles files = listing.list(NO_FILTERS, NO_FILTERS);
    ArrayList<FileStatus> all = new ArrayList<>();
    for (int group = 0; group < files.groups(); group++) {
      PartitionDirectory directory = directory(files, group);
      for (int i = 0; i < directory.files().size(); i++) {
        FileStatus status = directory.files().apply(i).fileStatus();
        root.ensureReal(status.getPath());
        all.add(status);
      }
    }
    return ScalaConversions.seq(all);
  }

  public String[] inputFiles() {
    ScanFiles files = listing.list(NO_FILTERS, NO_FILTERS);
    String[] paths = new String[files.count()];
    for (int i = 0; i < paths.length; i++)
      paths[i] = root.resolve(files.path(i)).toUri().toString();
    return paths;
  }

  public void refresh() {}

  public long sizeInBytes() {
    return estimate == null ? scan.bytes : Math.max(estimate.bytes, 1);
  }

  public StructType partitionSchema() {
    return scan.constants;
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof PrunedFileIndex)) return false;
    PrunedFileIndex that = (PrunedFileIndex) other;
    return statementId.equals(that.statementId) && scan.source == that.scan.source;
  }

  public int hashCode() {
    return 31 * statementId.hashCode() + scan.source;
  }

  /** Turns a filter's references into positions of the row of constants. */
  private static final class Binder extends scala.runtime.AbstractPartialFunction {
    private final StructField[] fields;

    Binder(StructField[] fields) {
      this.fields = fields;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!(node instanceof AttributeReference)) return otherwise.apply(node);
      String name = ((AttributeReference) node).name();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].name().equalsIgnoreCase(name))
          return new BoundReference(i, fields[i].dataType(), true);
      }
      throw new IllegalArgumentException("not a constant of this scan: " + name);
    }
  }
}
