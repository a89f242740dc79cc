package deltagateway.cache;

import deltagateway.optimizer.EstimatedRelation;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PrunedFileIndex;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Queries as they were optimized, so that the next one like it is not parsed, guarded, analyzed and
 * optimized again: for a look-up that takes a third of the time before its job.
 *
 * <p>A plan is kept by all that it follows from: texts of the statement and its views, values of
 * parameters and variables, columns and sizes of the tables, settings, current schema and user. It
 * holds no files: those of a scan are asked for when the plan runs, by the statement that runs it,
 * so a kept plan reads the versions that its statement has pinned; where these are the files of the
 * last run, that one's tasks run again ({@link CachedPlan}). The columns that a text has are kept
 * likewise, for all sizes of the tables. So are queries whose rows are written, with what the table
 * demands of these, as they were analyzed: they are optimized for the files that they are over. No
 * plan is kept that depends on the time or on chance, whose columns are found in files, or that
 * reads a view which has other rows each time.
 */
public final class PlanCache {
  private static final int PLANS_MAX = 200;

  /** Of frames of columns alone ({@link ResponseFrame}), of so many bytes at most. */
  private static final int COLUMNS_MAX = 1000;

  private static final int COLUMNS_BYTES_MAX = 16 << 10;

  /**
   * Of these plans, the ones whose last run is kept: each holds the session that it was made in,
   * and some more.
   */
  private static final int RUNS_MAX = 100;

  /**
   * Of all that a plan follows from: that of a longer text, with a list of a thousand values, say,
   * is large.
   */
  private static final int LENGTH_MAX = 100_000;

  /**
   * A date or time of a text that is none by itself, such as DATE 'today', which Spark's parser
   * evaluates.
   */
  private static final Pattern TYPED =
      Pattern.compile(
          "\\b(date|time|timestamp|timestamp_ltz|timestamp_ntz)\\s*r?(\\\\?\"|')(?![0-9+-])",
          Pattern.CASE_INSENSITIVE);

  /** Between a type and its text may be a comment; no others are looked for. */
  private static final Pattern COMMENT = Pattern.compile("--|/\\*");

  private final Map<String, Kept> plans =
      Collections.synchronizedMap(
          new LinkedHashMap(16, 0.75f, true) {
            protected boolean removeEldestEntry(Map.Entry eldest) {
              return size() > PLANS_MAX;
            }
          });

  /** Key -> what a text was found to be when it was analyzed, which is asked for before it runs. */
  private final Map<String, byte[]> columns =
      Collections.synchronizedMap(
          new LinkedHashMap(16, 0.75f, true) {
            protected boolean removeEldestEntry(Map.Entry eldest) {
              return size() > COLUMNS_MAX;
            }
          });

  /**
   * Key -> analyzed query with what the table that its rows are written to demands ({@link
   * RowEnforcer}).
   */
  private final Map<String, LogicalPlan> writes =
      Collections.synchronizedMap(
          new LinkedHashMap(16, 0.75f, true) {
            protected boolean removeEldestEntry(Map.Entry eldest) {
              return size() > PLANS_MAX;
            }
          });

  /** Those whose run is kept, in the order of their use. */
  private final Map<Kept, Kept> withRuns = new LinkedHashMap<>(16, 0.75f, true);

  /** Statement to the number of the execution whose tasks it ran again. */
  private final Map<String, Long> repeated =
      Collections.synchronizedMap(
          new LinkedHashMap<String, Long>(16, 0.75f, true) {
            protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
              return size() > PLANS_MAX;
            }
          });

  /** Records that a statement runs the tasks of an earlier execution. */
  public void addRepeated(String id, CachedPlan run) {
    if (run.execution != null) repeated.put(id, run.execution);
  }

  /** Returns the execution whose tasks a statement ran again, or null. */
  public Long repeatedBy(String id) {
    return repeated.get(id);
  }

  /** What a plan of the request is kept by, or null where none may be. */
  public static String key(SparkSession spark, StatementRequest request)
      throws GeneralSecurityException {
    return key(spark, request, request.meaning);
  }

  /** What the request's columns are kept by, or null where they may not be. */
  public static String columnsKey(SparkSession spark, StatementRequest request)
      throws GeneralSecurityException {
    return key(spark, request, request.shape());
  }

  /**
   * What a query whose rows are written is kept by, or null where it may not be. `target` is what
   * Java is told of the files, whose texts are timeless; `forAnySize`: the query does not follow
   * from how large the tables are.
   */
  public static String writeKey(
      SparkSession spark, StatementRequest request, String target, boolean forAnySize)
      throws GeneralSecurityException {
    return key(spark, request, (forAnySize ? request.shape() : request.meaning) + "\n" + target);
  }

  private static String key(SparkSession spark, StatementRequest request, String meaning)
      throws GeneralSecurityException {
    if (!OptimizerRule.PLAN_CACHE.isEnabled(spark.sessionState().conf())) return null;
    if (request.given.size() > 0) return null;
    for (int i = 0; i < request.scans.length; i++) if (request.scans[i].format != null) return null;
    if (!isTimeless(request.text)) return null;
    for (int i = 0; i < request.views.length; i++) {
      if (!isTimeless(request.views[i].text)) return null;
    }
    Map<String, String> settings = spark.sessionState().conf().settings();
    String set;
    synchronized (settings) {
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

  public static boolean isTimeless(String text) {
    Matcher comment = COMMENT.matcher(text);
    return !comment.find() && !TYPED.matcher(text).find();
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

  public Kept get(String key) {
    return plans.get(key);
  }

  public Kept put(
      String key, String named, LogicalPlan asked, LogicalPlan analyzed, LogicalPlan optimized) {
    Placing nowhere = new Placing(null, null);
    Kept kept =
        new Kept(named, nowhere.over(asked), nowhere.over(analyzed), nowhere.over(optimized));
    plans.put(key, kept);
    return kept;
  }

  /** Keeps the tasks that a plan came to; null: none. */
  public void keepRun(Kept kept, CachedPlan run) {
    synchronized (withRuns) {
      kept.run = run;
      if (run == null) withRuns.remove(kept);
      else withRuns.put(kept, kept);
      if (withRuns.size() <= RUNS_MAX) return;
      Kept eldest = withRuns.keySet().iterator().next();
      eldest.run = null;
      withRuns.remove(eldest);
    }
  }

  /**
   * A plan's last run, if a statement with these files, by their scans, reads the same; null if
   * not.
   */
  public CachedPlan again(Kept kept, Map<String, PrunedFileIndex> files) {
    CachedPlan last = kept.run;
    if (last == null) return null;
    synchronized (withRuns) {
      withRuns.get(kept);
    }
    return last.isOver(files) ? last : null;
  }

  /** The plans of one query, over no files, and the tasks that came of them when it ran last. */
  public static final class Kept {
    volatile CachedPlan run;

    /** What the texts say ({@link ParsedVolatility}). */
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

  /**
   * Puts the files of a statement in the place of those that scans of the same names have; null:
   * none, which fails.
   */
  public static final class Placing extends scala.runtime.AbstractPartialFunction {
    private final SparkSession spark;
    private final Map<String, PrunedFileIndex> files;

    public Placing(SparkSession spark, Map<String, PrunedFileIndex> files) {
      this.spark = spark;
      this.files = files;
    }

    public LogicalPlan over(LogicalPlan plan) {
      return plan.transformDownWithSubqueries(this);
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof LogicalRelation;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      LogicalRelation leaf = (LogicalRelation) node;
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
