package deltagateway.session;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.analysis.FunctionBodies;
import deltagateway.analysis.HiddenColumns;
import deltagateway.analysis.ParameterMarkers;
import deltagateway.analysis.StatementTimestamp;
import deltagateway.analysis.TableRelations;
import deltagateway.analysis.Volatility;
import deltagateway.cache.CachedPlan;
import deltagateway.cache.PlanCache;
import deltagateway.connect.DataFramePlans;
import deltagateway.guard.FilePathMasking;
import deltagateway.guard.PlanGuard;
import deltagateway.guard.SecurityBarrierViews;
import deltagateway.internals.PlanNodes;
import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.CorrelatedLimits;
import deltagateway.optimizer.FiredRules;
import deltagateway.optimizer.LimitPruning;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.optimizer.UnscaledDecimalAggregates;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.ResponseFrame;
import deltagateway.protocol.StatementRequest;
import deltagateway.result.ArrowPartition;
import deltagateway.result.FirstRowsNotifier;
import deltagateway.result.ResultSpool;
import deltagateway.scan.ComputedColumns;
import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.PythonRowsRelation;
import deltagateway.scan.TableScan;
import deltagateway.write.RowEnforcer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample$;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.StructType;
import scala.Function0;
import scala.Function2;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * One run of one query: the text is parsed, guarded, analyzed over the scans, guarded again and
 * run; or only run, if the other steps were done before ({@link PlanCache}).
 *
 * <p>Commands never run: Spark skips them, and the guard rejects them. Views of the catalog become
 * temporary views of Spark, which are dropped as soon as the plan is analyzed.
 */
public final class StatementExecution {
  private final SparkSession spark;
  private final PlanGuard guard;
  private final StatementRequest request;
  private final GatewaySession session;
  private final String timeZone;
  private final StepTimings steps;
  private TableRelations relations;
  private FunctionBodies bodies;
  private final List<PythonRowsRelation> pythonRows = new ArrayList<>();

  /** Query that was analyzed, over the scans as the text names them. */
  private LogicalPlan analyzedQuery;

  /** Volatility of the parsed texts. */
  private String textVolatility = Volatility.ALWAYS;

  /** Files of the scans by name. */
  private Map<String, PrunedFileIndex> files;

  /** Key of the plan cache, under the settings after `changes`; null if the plan is not cached. */
  private String key;

  private long changes;
  private PlanCache.Kept cached;

  StatementExecution(
      SparkSession spark, PlanGuard guard, StatementRequest request, GatewaySession session) {
    this.spark = spark;
    this.guard = guard;
    this.request = request;
    this.session = session;
    this.steps = request.steps;
    steps.end("request");
    this.timeZone = spark.sessionState().conf().sessionLocalTimeZone();
  }

  byte[] describe() throws Exception {
    changes = session.settings().changes();
    String shape = PlanCache.columnsKey(spark, request);
    byte[] known = shape == null ? null : session.plans().columns(shape);
    if (known != null) return known;
    byte[] frame = ResponseFrame.ofColumns(analyzed().analyzed(), timeZone);
    boolean isUnchanged = shape != null && shape.equals(PlanCache.columnsKey(spark, request));
    if (isUnchanged && changes == session.settings().changes())
      session.plans().putColumns(shape, frame);
    return frame;
  }

  byte[] run() throws Exception {
    ExecutionSettings settings = new ExecutionSettings(spark, session.settings());
    changes = session.settings().changes();
    key = PlanCache.key(spark, request);
    cached = key == null ? null : session.plans().get(key);
    CachedPlan lastRun = cached == null ? null : session.plans().again(cached, files());
    StatementQueryExecution query = lastRun == null ? queryToRun(settings) : null;
    session.ensureLive(request.id);
    StructType schema = (lastRun == null ? query.analyzed() : cached.analyzed).schema();
    ResultSpool rows =
        lastRun == null ? rows(query, settings, schema) : rowsOfTasks(lastRun, schema);
    if (rows.exceeded())
      throw new RejectionException("result too large", Long.toString(request.resultBytesMax));
    steps.end("last stage");
    return ResponseFrame.ofResult(
        schema, timeZone, rows, volatility(), steps, FiredRules.of(request.id));
  }

  /**
   * Returns the query's result. If sums do not fit in their longs, the original query runs; if rows
   * were announced already, it runs only to find out if it fails too.
   */
  private ResultSpool rows(
      StatementQueryExecution query, ExecutionSettings settings, StructType schema)
      throws Exception {
    StatementQueryExecution chosen = settings.choose(query, true);
    ResultSpool rows = spool(schema);
    try {
      run(chosen, settings, schema, rows);
      session.recordObserved(request.id, chosen);
      return rows;
    } catch (Throwable failure) {
      if (chosen == query || !UnscaledDecimalAggregates.failed(failure)) throw failure;
    }
    ResultSpool again = rows.again(rows.hasAnnounced() ? null : announcer(schema));
    StatementQueryExecution original = settings.choose(query, false);
    run(original, settings, schema, again);
    session.recordObserved(request.id, original);
    if (rows.hasAnnounced()) throw new RejectionException("sum beyond statistics", "");
    return again;
  }

  /**
   * Returns the result of the tasks of the last run, which have the settings of the session, as in
   * an execution that Spark records.
   */
  private ResultSpool rowsOfTasks(CachedPlan lastRun, StructType schema) throws Exception {
    useCached();
    session.plans().addRepeated(request.id, lastRun);
    ResultSpool rows = spool(schema);
    Function0<Object> work =
        () -> {
          RDD<InternalRow> tasks = lastRun.rows(spark);
          steps.end("stages");
          runJob(tasks, schema, rows);
          return null;
        };
    fill(rows, () -> SQLExecution$.MODULE$.withSQLConfPropagated(spark, work));
    return rows;
  }

  private ResultSpool spool(StructType schema) {
    return new ResultSpool(request, session.callbacks(), announcer(schema));
  }

  private FirstRowsNotifier announcer(StructType schema) {
    return request.announcesRows
        ? new FirstRowsNotifier(session.callbacks(), request.id, schema, timeZone)
        : null;
  }

  private void run(
      StatementQueryExecution query,
      ExecutionSettings settings,
      StructType schema,
      ResultSpool spool)
      throws Exception {
    fill(
        spool,
        () ->
            settings.during(
                () -> {
                  collect(query, settings.limit(), schema, spool);
                  return null;
                }));
  }

  /** Runs `work` and closes the spool. A run that failed, or was ended early, is not cached. */
  private void fill(ResultSpool spool, Callable<?> work) throws Exception {
    try {
      steps.end("optimization");
      work.call();
    } catch (Throwable failure) {
      if (cached != null) session.plans().keepRun(cached, null);
      if (!spool.exceeded() && !spool.hasEnough()) throw failure;
    } finally {
      spool.close();
    }
  }

  /** Returns the query, which may have been planned before. */
  private StatementQueryExecution queryToRun(ExecutionSettings settings) throws Exception {
    if (cached != null) {
      PlanCache.Placing placing = new PlanCache.Placing(spark, files());
      useCached();
      return new OptimizedQueryExecution(spark, cached.analyzed, placing.over(cached.optimized));
    }
    QueryExecution analyzed = analyzed();
    StatementQueryExecution execution = (StatementQueryExecution) atItsTime(analyzed);
    steps.end("analysis");
    if (key != null && execution == analyzed && !volatility().equals(Volatility.NEVER)) {
      LogicalPlan optimized = settings.optimized(execution);
      if (isUnchanged())
        cached =
            session
                .plans()
                .put(key, textVolatility, analyzedQuery, execution.analyzed(), optimized);
    }
    return execution;
  }

  private void useCached() {
    OptimizerRule.PLAN_CACHE.count();
    analyzedQuery = cached.asked;
    textVolatility = cached.named;
  }

  /** Returns false if the session's settings changed since the key was computed from them. */
  private boolean isUnchanged() throws Exception {
    return key.equals(PlanCache.key(spark, request)) && changes == session.settings().changes();
  }

  /** Returns the volatility of the analyzed query and of its texts. */
  private String volatility() {
    for (JsonNode rows : request.given) {
      if (!rows.get("is_stamped").booleanValue()) return Volatility.NEVER;
    }
    for (PythonRowsRelation rows : pythonRows) if (rows.usesCostly()) return Volatility.NEVER;
    return Volatility.both(textVolatility, Volatility.of(analyzedQuery));
  }

  public QueryExecution analyzed() throws Exception {
    LogicalPlan parsed = parsed();
    steps.end("parse");
    guard.ensureMayAnalyze(parsed, request.relations());
    steps.end("guard");
    QueryExecution execution = analyzed(parsed);
    steps.end("analysis");
    return guarded(execution, execution.analyzed());
  }

  /** Returns the query that was analyzed, over the scans as the text names them. */
  LogicalPlan analyzedQuery() {
    return analyzedQuery;
  }

  public LogicalPlan parsed() throws Exception {
    String ofText = Volatility.ofText(request.text, request.parameters);
    textVolatility = Volatility.both(textVolatility, ofText);
    return ParameterMarkers.parse(spark, request.text, request.parameters, timeZone);
  }

  /** Analyzes a query, or a command around one, that has passed the guard. */
  public QueryExecution analyzed(LogicalPlan parsed) throws Exception {
    textVolatility = Volatility.both(textVolatility, Volatility.of(parsed));
    // For a SELECT without FROM Spark would run a job.
    LogicalPlan local =
        parsed.transformUp(
            ScalaConversions.<LogicalPlan>rewrite(
                node -> node instanceof OneRowRelation ? PlanNodes.oneRow() : node));
    session.ensureLive(request.id);
    relations();
    QueryExecution execution = withViews(local);
    analyzedQuery = execution.analyzed();
    return execution;
  }

  /** Returns an analyzed query after the second check; `execution` may be its own. */
  public QueryExecution guarded(QueryExecution execution, LogicalPlan query) {
    guard.ensureMayRun(query, request.id);
    if (request.hasBarrier()) guard.ensureHidesFiles(query);
    steps.end("guard");
    boolean hasHidden = request.hasHidden() || (bodies != null && bodies.hasHidden());
    LogicalPlan masked =
        hasHidden ? SecurityBarrierViews.removeUnneeded(FilePathMasking.ofQuery(query)) : query;
    LogicalPlan rows = new CorrelatedLimits().apply(TableScan.rows(spark, masked));
    return rows == execution.analyzed() ? execution : planned(rows);
  }

  /** Returns the query to run: with the statement's time, and over the rows from Python. */
  public QueryExecution atItsTime(QueryExecution analyzed) {
    LogicalPlan plan = analyzed.analyzed();
    LogicalPlan fixed =
        PythonRowsRelation.placed(spark, new StatementTimestamp(request.instantMicros).fix(plan));
    return fixed == plan ? analyzed : planned(fixed);
  }

  /** Returns true if a later query with the same key differs in its files only. */
  boolean isSameAgain(QueryExecution enforced) {
    if (!request.given.isEmpty()
        || RowEnforcer.isLiteral(enforced.analyzed())
        || atItsTime(enforced) != enforced) return false;
    return !Volatility.both(volatility(), Volatility.of(enforced.analyzed()))
        .equals(Volatility.NEVER);
  }

  /** Returns a cached analyzed query, over the files of this statement. */
  StatementQueryExecution again(LogicalPlan enforced) throws Exception {
    LogicalPlan placed = new PlanCache.Placing(spark, files()).over(enforced);
    placed.setAnalyzed();
    return planned(placed);
  }

  public StatementQueryExecution planned(LogicalPlan plan) {
    return new StatementQueryExecution(spark, plan);
  }

  /** Returns the relations of the scans, of rows from Python, and of some views. */
  private TableRelations relations() throws Exception {
    if (relations != null) return relations;
    bodies = new FunctionBodies(this, session, request);
    relations = new TableRelations(bodies);
    files().forEach((name, index) -> relations.add(name, new TableScan(spark, index).relation()));
    for (int i = 0; i < request.given.size(); i++) {
      PythonRowsRelation rows =
          new PythonRowsRelation(
              spark, session.callbacks(), request.id, i, request.given.get(i), timeZone);
      pythonRows.add(rows);
      relations.add(request.givenName(i), rows.relation());
    }
    for (StatementRequest.View view : request.views) {
      if (!view.unlistedColumns.isEmpty())
        relations.add(view.relation, new HiddenColumns(rows(view), view.unlistedColumns));
    }
    return relations;
  }

  private Map<String, PrunedFileIndex> files() {
    if (files != null) return files;
    files = new LinkedHashMap<>();
    for (int i = 0; i < request.scans.length; i++) {
      StatementRequest.Scan scan = request.scans[i];
      FileListing listing =
          new FileListing(session.callbacks(), request.id, i, scan.constants, timeZone);
      PrunedFileIndex index = new PrunedFileIndex(request.id, scan, listing);
      if (!scan.shown.isEmpty()) listing.show(new ComputedColumns(spark, index));
      files.put(scan.relation, index);
    }
    return files;
  }

  /**
   * Analyzes a plan while its views exist. Names of views are unique in a statement only, so
   * statements of one session wait for each other.
   */
  private QueryExecution withViews(LogicalPlan parsed) throws Exception {
    if (request.views.length == 0) return analyzedWithVariables(parsed);
    synchronized (session) {
      Deque<String> created = new ArrayDeque<>();
      try {
        for (StatementRequest.View view : request.views) {
          if (!view.unlistedColumns.isEmpty()) continue; // a relation has its name
          createView(view);
          created.push(view.relation);
        }
        return analyzedWithVariables(parsed);
      } finally {
        for (String view : created) spark.sessionState().catalog().dropTempView(view);
      }
    }
  }

  private QueryExecution analyzedWithVariables(LogicalPlan parsed) {
    QueryExecution execution = planned(relations.resolve(parsed));
    Function0<Object> analyze =
        () -> {
          execution.assertAnalyzed();
          return null;
        };
    request.variables.during(spark, analyze);
    return execution;
  }

  /** Returns the body of a function by itself. No plan or result that has one is cached. */
  public LogicalPlan analyzedBody(String text) throws Exception {
    LogicalPlan parsed = spark.sessionState().sqlParser().parsePlan(text);
    textVolatility = Volatility.NEVER;
    guard.ensureMayAnalyze(parsed, request.relations());
    QueryExecution execution = planned(relations().resolve(parsed));
    execution.assertAnalyzed();
    return execution.analyzed();
  }

  /**
   * Creates a view. Views and policies are analyzed under the settings of their creation: the
   * reader's settings would change their meaning.
   */
  private void createView(StatementRequest.View view) throws Exception {
    Callable<Object> create =
        () -> {
          Dataset$.MODULE$.ofRows(spark, rowsOfView(view)).createTempView(view.relation);
          return null;
        };
    if (view.settings == null) create.call();
    else
      SQLConf$.MODULE$.withExistingConf(
          session.ofServer(view.settings), ScalaConversions.function(create));
  }

  private LogicalPlan rowsOfView(StatementRequest.View view) throws Exception {
    LogicalPlan rows = rows(view);
    if (!view.columns.isEmpty())
      rows = new Project(ScalaConversions.seq(columns(rows, view)), rows);
    if (view.hidesFilePaths) rows = FilePathMasking.ofView(rows);
    // The optimizer neither moves a condition through a sample of all rows, nor infers one from it,
    // nor removes it.
    if (view.isBarrier) return Sample$.MODULE$.apply(0.0, 1.0, false, 0L, rows);
    return view.isHidden ? SecurityBarrierViews.mark(rows) : rows;
  }

  /** Returns the rows of a view's text, which has to pass both checks too. */
  private LogicalPlan rows(StatementRequest.View view) throws Exception {
    LogicalPlan parsed = view.frame == null ? parsed(view) : parsedFrame(view.frame);
    relations();
    QueryExecution execution;
    if (view.isTemporary) {
      execution = analyzedWithVariables(parsed);
    } else {
      execution = planned(relations.resolve(parsed));
      execution.assertAnalyzed();
    }
    guard.ensureMayRun(execution.analyzed(), request.id);
    return execution.analyzed();
  }

  private LogicalPlan parsed(StatementRequest.View view) throws Exception {
    String ofText = Volatility.ofText(view.text, view.parameters);
    LogicalPlan parsed = ParameterMarkers.parse(spark, view.text, view.parameters, timeZone);
    textVolatility =
        Volatility.both(textVolatility, Volatility.both(ofText, Volatility.of(parsed)));
    guard.ensureMayAnalyze(parsed, request.relations());
    return parsed;
  }

  private LogicalPlan parsedFrame(StatementRequest.Frame frame) throws Exception {
    textVolatility = Volatility.NEVER;
    LogicalPlan parsed = DataFramePlans.parse(spark, guard, frame, request);
    Set<String> inputs =
        frame.inputs().values().stream()
            .map(input -> lower(input.relation()))
            .collect(Collectors.toSet());
    guard.ensureMayAnalyzeFrame(parsed, inputs, request.id);
    return parsed;
  }

  /**
   * Returns the columns of a view. As in Spark's views, the columns of its query are found by name,
   * and columns of the same name by their order, if there are as many as at its creation.
   */
  private static List<NamedExpression> columns(LogicalPlan rows, StatementRequest.View view) {
    Map<String, Deque<Attribute>> found = new HashMap<>();
    for (Attribute column : list(rows.output()))
      found.computeIfAbsent(lower(column.name()), name -> new ArrayDeque<>()).add(column);
    Map<String, Long> expected =
        view.columns.stream()
            .collect(
                Collectors.groupingBy(column -> lower(column.source()), Collectors.counting()));
    for (StatementRequest.View.Column column : view.columns) {
      String name = lower(column.source());
      if (found.getOrDefault(name, new ArrayDeque<>()).size() != expected.get(name))
        throw new RejectionException("view column", column.source() + " of the view " + view.label);
    }
    List<NamedExpression> columns = new ArrayList<>();
    for (StatementRequest.View.Column column : view.columns) {
      Attribute source = found.get(lower(column.source())).remove();
      columns.add(PlanNodes.alias(ViewColumns.withType(source, column, view), column.name()));
    }
    return columns;
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }

  private void collect(
      QueryExecution execution, LimitPruning limit, StructType schema, ResultSpool spool)
      throws Exception {
    SparkPlan plan = execution.executedPlan();
    steps.end("planning");
    session.ensureLive(request.id);
    if (plan instanceof LocalTableScanExec) {
      addRows(plan.executeCollect(), schema, spool);
      return;
    }
    Function0<Object> work =
        ScalaConversions.function(
            () -> {
              boolean isFew = isSmallLimit(plan, schema);
              RDD<InternalRow> rows = isFew && !isOneTask(plan) ? null : plan.execute();
              if (isFew && (rows == null || (limit != null && limit.hasPrunedFiles()))) {
                InternalRow[] collected = plan.executeCollect();
                boolean misses = limit != null && limit.mayHaveMore(collected.length);
                addRows(misses ? rowsOfAllFiles(execution, limit) : collected, schema, spool);
                return null;
              }
              steps.end("stages");
              runJob(rows, schema, spool);
              if (cached != null && isUnchanged())
                session.plans().keepRun(cached, CachedPlan.of(plan, rows, files(), number()));
              return null;
            });
    SubqueryFailures.execute(execution, work);
  }

  /** Returns the number of the execution that Spark records on this thread, or null. */
  private Long number() {
    String number = spark.sparkContext().getLocalProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    return number == null ? null : Long.valueOf(number);
  }

  /**
   * Returns true for a LIMIT that is collected: Spark's distributed form reads every partition, the
   * collecting one stops when it has enough rows.
   */
  private static boolean isSmallLimit(SparkPlan plan, StructType schema) {
    SparkPlan root = plan instanceof AdaptiveSparkPlanExec adaptive ? adaptive.inputPlan() : plan;
    return root instanceof CollectLimitExec limit && LimitPruning.areFew(limit.limit(), schema);
  }

  /** Returns true if the distributed form of a LIMIT is one task, which stops by itself. */
  private static boolean isOneTask(SparkPlan plan) {
    return plan instanceof CollectLimitExec limit
        && limit.child().outputPartitioning() == SinglePartition$.MODULE$;
  }

  /** Returns rows of all files, if those chosen for a LIMIT have fewer rows than the log says. */
  private InternalRow[] rowsOfAllFiles(QueryExecution execution, LimitPruning limit) {
    limit.readAllFiles();
    return new OptimizedQueryExecution(spark, execution.analyzed(), execution.optimizedPlan())
        .executedPlan()
        .executeCollect();
  }

  private void addRows(InternalRow[] rows, StructType schema, ResultSpool spool) {
    try {
      spool.add(
          0,
          partition(schema, spool)
              .write(CollectionConverters.asScala(List.of(rows).iterator()), null, "collected"));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private void runJob(RDD<InternalRow> rows, StructType schema, ResultSpool spool) {
    SparkContext context = spark.sparkContext();
    Function2<Object, ArrowPartition.Part, BoxedUnit> receive =
        (partition, part) -> {
          try {
            if (!spool.add((Integer) partition, part))
              context.cancelJobGroup(request.id, "no more rows of the result are taken");
          } catch (IOException failure) {
            throw new UncheckedIOException(failure);
          }
          return BoxedUnit.UNIT;
        };
    context.runJob(
        rows,
        partition(schema, spool),
        receive,
        ScalaConversions.classTag(ArrowPartition.Part.class));
  }

  private ArrowPartition partition(StructType schema, ResultSpool spool) {
    boolean isLocal = spark.sparkContext().isLocal();
    return new ArrowPartition(schema, timeZone, request, spool.folder(), isLocal);
  }
}
