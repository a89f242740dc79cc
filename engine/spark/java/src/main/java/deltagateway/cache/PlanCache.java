package deltagateway.cache;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.EstimatedRelation;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.write.LiteralPlan;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Optimized plans of queries, so that the next query like it is not parsed, guarded, analyzed and
 * optimized again. For a point lookup that takes a third of the time before its job.
 *
 * <p>The key covers all that a plan depends on: texts of the statement and its views, values of
 * parameters and variables, columns and sizes of the tables, settings, current schema and user. A
 * cached plan has no files: those of a scan are listed when the plan runs, by the statement that
 * runs it, so it reads the versions that its statement has pinned. If these are the files of the
 * last run, its tasks run again ({@link CachedPlan}). The columns of a text are cached likewise,
 * for all sizes of the tables. So are queries whose rows are written, analyzed and with what the
 * table enforces; they are optimized for their files. Plans are not cached if they depend on time
 * or chance, infer columns from files, or read a view whose rows change.
 */
public final class PlanCache {
  private static final int PLANS_MAX = 200;
  private static final int COLUMNS_MAX = 1000;

  /** Bytes of a frame of columns ({@link deltagateway.protocol.ResponseFrame}). */
  private static final int COLUMNS_BYTES_MAX = 16 << 10;

  /** Plans with a cached run, which keeps the session that it was created in. */
  private static final int RUNS_MAX = 100;

  /** Characters of a key before it is hashed; longer ones have lists of a thousand values, say. */
  private static final int LENGTH_MAX = 100_000;

  private final Map<String, Kept> plans = recentlyUsed(PLANS_MAX);

  /** Frames of columns by keys; clients request them before they run the text. */
  private final Map<String, byte[]> columns = recentlyUsed(COLUMNS_MAX);

  /** Analyzed queries with what their target table enforces ({@link RowEnforcer}). */
  private final Map<String, LogicalPlan> writes = recentlyUsed(PLANS_MAX);

  /** Plans of literal rows; empty for a key that has occurred once. */
  private final Map<String, Optional<LiteralPlan>> literals = recentlyUsed(PLANS_MAX);

  /** Plans with a cached run, in order of use; guarded by itself. */
  private final Map<Kept, Kept> withRuns = new LinkedHashMap<>(16, 0.75f, true);

  /** Executions by the statements that ran their tasks again. */
  private final Map<String, Long> repeated = recentlyUsed(PLANS_MAX);

  /** Records that a statement runs the tasks of an earlier execution. */
  public void addRepeated(String id, CachedPlan run) {
    if (run.execution != null) repeated.put(id, run.execution);
  }

  /** Returns the execution whose tasks a statement ran again, or null. */
  public Long repeatedBy(String id) {
    return repeated.get(id);
  }

  private static <V> Map<String, V> recentlyUsed(int sizeMax) {
    return Collections.synchronizedMap(new RecentlyUsed<>(sizeMax));
  }

  /** Returns the key of a request's plan, or null if it must not be cached. */
  public static String key(SparkSession spark, StatementRequest request)
      throws GeneralSecurityException {
    return key(spark, request, request.meaning);
  }

  /** Returns the key of a request's columns, or null if they must not be cached. */
  public static String columnsKey(SparkSession spark, StatementRequest request)
      throws GeneralSecurityException {
    return key(spark, request, request.shape());
  }

  /**
   * Returns the key of a query whose rows are written, or null if it must not be cached. `target`
   * describes the written files; its expressions must not be volatile. With `forAnySize`, the plan
   * does not depend on the sizes of tables.
   */
  public static String writeKey(
      SparkSession spark, StatementRequest request, String target, boolean forAnySize)
      throws GeneralSecurityException {
    return key(spark, request, (forAnySize ? request.shape() : request.meaning) + "\n" + target);
  }

  private static String key(SparkSession spark, StatementRequest request, String meaning)
      throws GeneralSecurityException {
    boolean isCached =
        OptimizerRule.PLAN_CACHE.isEnabled(spark.sessionState().conf())
            && request.given.isEmpty()
            && Arrays.stream(request.scans).allMatch(scan -> scan.format == null)
            && Arrays.stream(request.views).allMatch(view -> view.frame == null);
    return isCached ? key(spark, meaning) : null;
  }

  /**
   * Returns the key of the plan of literal rows, or null if it must not be cached. `meaning` has
   * the types of the values and all that the table enforces.
   */
  public static String literalsKey(SparkSession spark, String user, String meaning)
      throws GeneralSecurityException {
    boolean isCached = OptimizerRule.PLAN_CACHE.isEnabled(spark.sessionState().conf());
    return isCached ? key(spark, user + "\n" + meaning) : null;
  }

  private static String key(SparkSession spark, String meaning) throws GeneralSecurityException {
    Map<String, String> settings = spark.sessionState().conf().settings();
    String set;
    synchronized (settings) { // a synchronized map; its copies need the lock
      set = new TreeMap<>(settings).toString();
    }
    CatalogManager catalogs = spark.sessionState().catalogManager();
    String schema = String.join(".", catalogs.currentNamespace());
    String key = meaning + "\n" + catalogs.currentCatalog().name() + "." + schema + "\n" + set;
    return key.length() > LENGTH_MAX ? null : digest(key);
  }

  private static String digest(String text) throws GeneralSecurityException {
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder().encodeToString(digest);
  }

  public byte[] columns(String key) {
    return columns.get(key);
  }

  public void putColumns(String key, byte[] frame) {
    if (frame.length <= COLUMNS_BYTES_MAX) columns.put(key, frame);
  }

  public LogicalPlan write(String key) {
    return writes.get(key);
  }

  public void putWrite(String key, LogicalPlan enforced) {
    writes.put(key, new Placing(null, null).over(enforced));
  }

  /** Returns the plan of literal rows, or null. */
  public LiteralPlan literals(String key) {
    Optional<LiteralPlan> found = literals.get(key);
    return found == null ? null : found.orElse(null);
  }

  /** Returns whether a plan of literal rows should be cached: its key occurs again. */
  public boolean recursLiterals(String key) {
    return literals.putIfAbsent(key, Optional.empty()) != null;
  }

  public void putLiterals(String key, LiteralPlan plan) {
    literals.put(key, Optional.of(plan));
  }

  public Kept get(String key) {
    return plans.get(key);
  }

  public Kept put(
      String key, String named, LogicalPlan asked, LogicalPlan analyzed, LogicalPlan optimized) {
    Placing withoutFiles = new Placing(null, null);
    Kept entry =
        new Kept(
            named,
            withoutFiles.over(asked),
            withoutFiles.over(analyzed),
            withoutFiles.over(optimized));
    plans.put(key, entry);
    return entry;
  }

  /** Caches the tasks of a plan's last run; null removes them. */
  public void keepRun(Kept entry, CachedPlan run) {
    synchronized (withRuns) {
      entry.run = run;
      if (run == null) withRuns.remove(entry);
      else withRuns.put(entry, entry);
      if (withRuns.size() <= RUNS_MAX) return;
      Kept eldest = withRuns.keySet().iterator().next();
      eldest.run = null;
      withRuns.remove(eldest);
    }
  }

  /** Returns a plan's last run if it read these files, by their scans; otherwise null. */
  public CachedPlan again(Kept entry, Map<String, PrunedFileIndex> files) {
    CachedPlan last = entry.run;
    if (last == null) return null;
    synchronized (withRuns) {
      withRuns.get(entry); // counts as a use
    }
    return last.isOver(files) ? last : null;
  }

  /** Plans of one query without files, and the tasks of its last run. */
  public static final class Kept {
    volatile CachedPlan run;

    /** Volatility of the texts ({@link deltagateway.analysis.Volatility}). */
    public final String named;

    public final LogicalPlan asked;
    public final LogicalPlan analyzed;
    public final LogicalPlan optimized;

    Kept(String named, LogicalPlan asked, LogicalPlan analyzed, LogicalPlan optimized) {
      this.named = named;
      this.asked = asked;
      this.analyzed = analyzed;
      this.optimized = optimized;
    }
  }

  /** Replaces the files of scans by those of a statement; null for files that fail when listed. */
  public record Placing(SparkSession spark, Map<String, PrunedFileIndex> files) {
    public LogicalPlan over(LogicalPlan plan) {
      return plan.transformDownWithSubqueries(
          ScalaConversions.rewrite(
              node -> node instanceof LogicalRelation leaf ? placed(leaf) : node));
    }

    private LogicalPlan placed(LogicalRelation leaf) {
      HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
      PrunedFileIndex before = (PrunedFileIndex) relation.location();
      PrunedFileIndex index = index(before.scan());
      if (before.estimate() != null)
        return new EstimatedRelation(leaf, index.estimatedAs(before), spark);
      HadoopFsRelation placed =
          new HadoopFsRelation(
              index,
              relation.partitionSchema(),
              relation.dataSchema(),
              relation.bucketSpec(),
              relation.fileFormat(),
              relation.options(),
              spark == null ? relation.sparkSession() : spark);
      return leaf.copy(
          placed, leaf.copy$default$2(), leaf.catalogTable(), leaf.isStreaming(), leaf.stream());
    }

    private PrunedFileIndex index(StatementRequest.Scan scan) {
      if (files == null) return new PrunedFileIndex("", scan, null);
      PrunedFileIndex found = files.get(scan.relation);
      if (found == null)
        throw new IllegalStateException("the statement has no scan " + scan.relation);
      return found;
    }
  }
}
