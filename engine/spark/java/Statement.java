package deltagateway;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
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
import org.apache.spark.unsafe.Platform;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One run of one query: the text is parsed, guarded, analyzed over the scans, guarded again and run; or only run, where
 * that was done before ({@link KeptPlans}).
 *
 * Commands never run: Spark is told to skip them, besides being refused by the guard. Views of the catalog become
 * temporary views of Spark, which are gone as soon as the plan is analyzed.
 */
final class Statement {
  private final SparkSession spark;
  private final PlanGuard guard;
  private final Request request;
  private final GatewaySession session;
  private final String timeZone;
  private final Steps steps;
  private Relations relations;
  private FunctionBodies bodies;
  /** Relations of {@link GivenRows}. */
  private final List<GivenRows> given = new ArrayList<>();
  private LogicalPlan asked;
  private String named = Repeatability.ALWAYS;
  private Map<String, ListedFileIndex> files;
  /** What the plan is kept by, under the settings after so many changes; null where it may not be. */
  private String key;
  private long changes;
  private KeptPlans.Kept kept;

  Statement(SparkSession spark, PlanGuard guard, Request request, GatewaySession session) {
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
    String shape = KeptPlans.columnsKey(spark, request);
    byte[] known = shape == null ? null : session.plans().columns(shape);
    if (known != null) return known;
    byte[] frame = Frame.ofColumns(analyzed().analyzed(), timeZone);
    boolean isUnchanged = shape != null && shape.equals(KeptPlans.columnsKey(spark, request));
    if (isUnchanged && changes == session.settings().changes()) session.plans().putColumns(shape, frame);
    return frame;
  }

  byte[] run() throws Exception {
    RunSettings settings = new RunSettings(spark, session.settings());
    changes = session.settings().changes();
    key = KeptPlans.key(spark, request);
    kept = key == null ? null : session.plans().get(key);
    KeptRun again = kept == null ? null : session.plans().again(kept, files());
    Query query = again == null ? toRun(settings) : null;
    session.ensureLive(request.id);
    StructType schema = (again == null ? query.analyzed() : kept.analyzed).schema();
    ResultSpool rows = again == null ? rows(query, settings, schema) : rowsAgain(again, schema);
    if (rows.exceeded()) throw new Refusal("result too large", Long.toString(request.resultBytesMax));
    steps.end("last stage");
    return Frame.ofResult(schema, timeZone, rows, repeatable(), steps);
  }

  /**
   * What the query answers. Where sums do not fit in their longs it runs again, as it was; if rows were announced, only
   * to find out whether it fails so too.
   */
  private ResultSpool rows(Query query, RunSettings settings, StructType schema) throws Exception {
    Query chosen = settings.choose(query, true);
    ResultSpool rows = spool(schema);
    try {
      run(chosen, settings, schema, rows);
      return rows;
    } catch (Throwable failure) {
      if (chosen == query || !LongSums.failed(failure)) throw failure;
    }
    ResultSpool again = rows.again(rows.hasAnnounced() ? null : announcer(schema));
    run(settings.choose(query, false), settings, schema, again);
    if (rows.hasAnnounced()) throw new Refusal("sum beyond statistics", "");
    return again;
  }

  /** Of the tasks of the last run, which have the settings of the session, as in an execution that Spark records. */
  private ResultSpool rowsAgain(final KeptRun last, final StructType schema) throws Exception {
    takeKept();
    session.plans().noteRepeated(request.id, last);
    final ResultSpool rows = spool(schema);
    fill(rows, new scala.runtime.AbstractFunction0() {
      public Object apply() {
        return SQLExecution$.MODULE$.withSQLConfPropagated(spark, new scala.runtime.AbstractFunction0() {
          public Object apply() {
            RDD<InternalRow> again = last.rows(spark);
            steps.end("stages");
            runJob(again, schema, rows);
            return null;
          }
        });
      }
    });
    return rows;
  }

  private ResultSpool spool(StructType schema) {
    return new ResultSpool(request, session.questions(), announcer(schema));
  }

  private RowAnnouncer announcer(StructType schema) {
    return request.announcesRows ? new RowAnnouncer(session.questions(), request.id, schema, timeZone) : null;
  }

  private void run(
      final Query query, final RunSettings settings, final StructType schema, final ResultSpool spool) throws Exception {
    fill(spool, new scala.runtime.AbstractFunction0() {
      public Object apply() {
        return settings.during(new scala.runtime.AbstractFunction0() {
          public Object apply() {
            collect(query, settings.some(), schema, spool);
            return null;
          }
        });
      }
    });
  }

  /** Closes the spool afterwards. A run that failed, or was ended early, is not kept. */
  private void fill(ResultSpool spool, scala.Function0<?> work) throws Exception {
    try {
      steps.end("optimization");
      work.apply();
    } catch (Throwable failure) {
      if (kept != null) session.plans().keepRun(kept, null);
      if (!spool.exceeded() && !spool.hasEnough()) throw failure;
    } finally {
      spool.close();
    }
  }

  /** The query, which may have been planned before. */
  private Query toRun(RunSettings settings) throws Exception {
    if (kept != null) {
      KeptPlans.Placing placing = new KeptPlans.Placing(spark, files());
      takeKept();
      return new OptimizedQuery(spark, kept.analyzed, placing.over(kept.optimized));
    }
    QueryExecution analyzed = analyzed();
    Query execution = (Query) atItsTime(analyzed);
    steps.end("analysis");
    if (key != null && execution == analyzed && !repeatable().equals(Repeatability.NEVER)) {
      LogicalPlan optimized = settings.optimized(execution);
      if (isUnchanged()) kept = session.plans().put(key, named, asked, execution.analyzed(), optimized);
    }
    return execution;
  }

  private void takeKept() {
    asked = kept.asked;
    named = kept.named;
  }

  /** What was made while the session was changed follows from other settings than its key says. */
  private boolean isUnchanged() throws Exception {
    return key.equals(KeptPlans.key(spark, request)) && changes == session.settings().changes();
  }

  /** Of the query that was analyzed, and of the texts that it was made of. */
  private String repeatable() {
    for (int i = 0; i < request.given.size(); i++) {
      if (!request.given.get(i).get("is_stamped").booleanValue()) return Repeatability.NEVER;
    }
    for (int i = 0; i < given.size(); i++) if (given.get(i).usesCostly()) return Repeatability.NEVER;
    return Repeatability.both(named, Repeatability.of(asked));
  }

  QueryExecution analyzed() throws Exception {
    LogicalPlan parsed = parsed();
    steps.end("parse");
    guard.ensureMayAnalyze(parsed, request.relations());
    steps.end("guard");
    QueryExecution execution = analyzed(parsed);
    steps.end("analysis");
    return guarded(execution, execution.analyzed());
  }

  /** The query that was analyzed, over the scans as the text names them. */
  LogicalPlan asked() {
    return asked;
  }

  LogicalPlan parsed() throws Exception {
    return Parameters.parse(spark, request.text, request.parameters, timeZone);
  }

  /** Analyzes what may be analyzed, be it a query or a command around one. */
  QueryExecution analyzed(LogicalPlan parsed) throws Exception {
    named = Repeatability.both(named, ParsedNames.repeatable(parsed));
    LogicalPlan local = parsed.transformUp(new OneRowAsLocal());
    session.ensureLive(request.id);
    relations();
    QueryExecution execution = withViews(local);
    asked = execution.analyzed();
    return execution;
  }

  /** An analyzed query that may run; `execution` may be its own. */
  QueryExecution guarded(QueryExecution execution, LogicalPlan query) {
    guard.ensureMayRun(query, request.id);
    if (request.hasBarrier()) guard.ensureTellsNoPlaces(query);
    steps.end("guard");
    boolean hasHidden = request.hasHidden() || (bodies != null && bodies.hasHidden());
    LogicalPlan shown = hasHidden ? HiddenViews.settled(HiddenPlaces.ofQuery(query)) : query;
    LogicalPlan rows = CorrelatedLimits.kept(TableScan.rows(spark, shown));
    return rows == execution.analyzed() ? execution : planned(rows);
  }

  /** What is to run: with the statement's time for now, over the rows that are given. */
  QueryExecution atItsTime(QueryExecution analyzed) {
    LogicalPlan plan = analyzed.analyzed();
    LogicalPlan fixed = GivenRows.placed(spark, new StatementTime(request.instantMicros).fixed(plan));
    return fixed == plan ? analyzed : planned(fixed);
  }

  /** Whether one like it is the same but for its files. */
  boolean isSameAgain(QueryExecution enforced) {
    if (request.given.size() > 0 || RowEnforcer.isLiteral(enforced.analyzed()) || atItsTime(enforced) != enforced) return false;
    return !Repeatability.both(repeatable(), Repeatability.of(enforced.analyzed())).equals(Repeatability.NEVER);
  }

  /** An analyzed query that was kept, over the files of this statement. */
  Query again(LogicalPlan enforced) throws Exception {
    LogicalPlan placed = new KeptPlans.Placing(spark, files()).over(enforced);
    placed.setAnalyzed();
    return planned(placed);
  }

  Query planned(LogicalPlan plan) {
    return new Query(spark, plan);
  }

  /** What the names of the scans stand for. */
  private Relations relations() throws Exception {
    if (relations == null) {
      bodies = new FunctionBodies(this, session, request);
      relations = new Relations(bodies);
      Map<String, ListedFileIndex> files = files();
      for (int i = 0; i < request.scans.length; i++) {
        String name = request.scans[i].relation;
        relations.add(name, new TableScan(spark, files.get(name)).relation());
      }
      for (int i = 0; i < request.given.size(); i++) {
        JsonNode described = request.given.get(i);
        GivenRows rows = new GivenRows(spark, session.questions(), request.id, i, described, timeZone);
        given.add(rows);
        relations.add(request.givenName(i), rows.relation());
      }
      for (int i = 0; i < request.views.length; i++) {
        Request.View view = request.views[i];
        if (!view.unlisted.isEmpty()) relations.add(view.relation, new UnlistedColumns(rows(view), view.unlisted));
      }
    }
    return relations;
  }

  /** Those of each scan by its name. */
  private Map<String, ListedFileIndex> files() {
    if (files != null) return files;
    files = new HashMap<>();
    for (int i = 0; i < request.scans.length; i++) {
      Request.Scan scan = request.scans[i];
      FileListing listing = new FileListing(session.questions(), request.id, i, scan.constants, timeZone);
      ListedFileIndex index = new ListedFileIndex(request.id, scan, listing);
      if (!scan.shown.isEmpty()) listing.show(new ShownColumns(spark, index));
      files.put(scan.relation, index);
    }
    return files;
  }

  /** Names of views are unique in a statement only, so statements of one session take turns for this moment. */
  private QueryExecution withViews(LogicalPlan parsed) throws Exception {
    if (request.views.length == 0) return analyzedWithVariables(parsed);
    synchronized (session) {
      ArrayList<String> created = new ArrayList<>();
      try {
        for (int i = 0; i < request.views.length; i++) {
          if (!request.views[i].unlisted.isEmpty()) continue; // its name is no view's
          createView(request.views[i]);
          created.add(request.views[i].relation);
        }
        return analyzedWithVariables(parsed);
      } finally {
        for (int i = created.size() - 1; i >= 0; i--) {
          spark.sessionState().catalog().dropTempView(created.get(i));
        }
      }
    }
  }

  private QueryExecution analyzedWithVariables(LogicalPlan parsed) {
    final QueryExecution execution = planned(relations.inPlaceOfNames(parsed));
    request.variables.during(spark, new scala.runtime.AbstractFunction0() {
      public Object apply() {
        execution.assertAnalyzed();
        return null;
      }
    });
    return execution;
  }

  /** The body of a function by itself. No plan or answer of it is kept. */
  LogicalPlan analyzedBody(String text) throws Exception {
    LogicalPlan parsed = spark.sessionState().sqlParser().parsePlan(text);
    named = Repeatability.NEVER;
    guard.ensureMayAnalyze(parsed, request.relations());
    QueryExecution execution = planned(relations().inPlaceOfNames(parsed));
    execution.assertAnalyzed();
    return execution.analyzed();
  }

  /** Views and policies are analyzed under the settings of their creation: the reader's would change what they mean. */
  private void createView(final Request.View view) throws Exception {
    if (view.settings == null) {
      create(view);
      return;
    }
    SQLConf$.MODULE$.withExistingConf(session.ofServer(view.settings), new scala.runtime.AbstractFunction0() {
      public Object apply() {
        try {
          create(view);
        } catch (Exception failure) {
          Platform.throwException(failure);
        }
        return null;
      }
    });
  }

  /** A view's own text takes the same two checks; its columns are those of its record. */
  private void create(Request.View view) throws Exception {
    LogicalPlan rows = rows(view);
    if (view.names.length > 0) rows = new Project(Scala.seq(columns(rows, view)), rows);
    if (view.hidesPlaces) rows = HiddenPlaces.ofView(rows);
    // A sample of all rows: the optimizer moves no condition through it, infers none, and drops it nowhere.
    if (view.barrier) rows = Sample$.MODULE$.apply(0.0, 1.0, false, 0L, rows);
    else if (view.hidden) rows = HiddenViews.marked(rows);
    Dataset$.MODULE$.ofRows(spark, rows).createTempView(view.relation);
  }

  private LogicalPlan rows(Request.View view) throws Exception {
    LogicalPlan parsed = spark.sessionState().sqlParser().parsePlan(view.text);
    named = Repeatability.both(named, ParsedNames.repeatable(parsed));
    guard.ensureMayAnalyze(parsed, request.relations());
    relations();
    QueryExecution execution;
    if (view.temporary) {
      execution = analyzedWithVariables(parsed);
    } else {
      execution = planned(relations().inPlaceOfNames(parsed));
      execution.assertAnalyzed();
    }
    guard.ensureMayRun(execution.analyzed(), request.id);
    return execution.analyzed();
  }

  /** Found by name, and among columns of one name by their order, whose number must be what it was. As Spark's views. */
  private static List columns(LogicalPlan rows, Request.View view) {
    Map<String, List<Object>> found = new HashMap<>();
    for (scala.collection.Iterator<Attribute> all = rows.output().iterator(); all.hasNext(); ) {
      Attribute attribute = all.next();
      named(found, attribute.name()).add(attribute);
    }
    Map<String, List<Object>> wanted = new HashMap<>();
    for (int i = 0; i < view.sources.length; i++) named(wanted, view.sources[i]).add(view.sources[i]);
    Map<String, List<Object>> taken = new HashMap<>();
    scala.collection.immutable.Seq<String> nothing = Scala.seq(new ArrayList<>());
    ArrayList<Alias> columns = new ArrayList<>();
    for (int i = 0; i < view.names.length; i++) {
      List<Object> candidates = named(found, view.sources[i]);
      List<Object> before = named(taken, view.sources[i]);
      if (candidates.size() != named(wanted, view.sources[i]).size()) {
        throw new Refusal("view column", view.sources[i] + " of the view " + view.label);
      }
      Attribute chosen = (Attribute) candidates.get(before.size());
      before.add(chosen);
      columns.add(
          new Alias(chosen, view.names[i], NamedExpression$.MODULE$.newExprId(), nothing, Scala.none(), nothing));
    }
    return columns;
  }

  private static List<Object> named(Map<String, List<Object>> lists, String name) {
    String key = name.toLowerCase(Locale.ROOT);
    if (!lists.containsKey(key)) lists.put(key, new ArrayList<>());
    return lists.get(key);
  }

  /**
   * A SELECT without FROM reads a relation of one row that Spark runs a job for; as a local relation the optimizer
   * evaluates it on the spot.
   */
  private static final class OneRowAsLocal extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof OneRowRelation;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      List noColumns = new ArrayList<>();
      List oneRow = Collections.singletonList(InternalRow.empty());
      return new LocalRelation(Scala.seq(noColumns), Scala.seq(oneRow), false, Scala.none());
    }
  }

  private void collect(
      final QueryExecution execution, final SomeRows some, final StructType schema, final ResultSpool spool) {
    final SparkPlan plan = execution.executedPlan();
    steps.end("planning");
    session.ensureLive(request.id);
    if (plan instanceof LocalTableScanExec) {
      addRows(plan.executeCollect(), schema, spool);
      return;
    }
    SQLExecution$.MODULE$.withNewExecutionId(execution, Scala.none(), new scala.runtime.AbstractFunction0() {
      public Object apply() {
        boolean isFew = isSmallLimit(plan, schema);
        RDD<InternalRow> rows = isFew && !isOneTask(plan) ? null : plan.execute();
        if (isFew && (rows == null || some != null && some.leavesOut())) {
          InternalRow[] few = plan.executeCollect();
          addRows(some != null && some.mayHaveMore(few.length) ? ofAllFiles(execution, some) : few, schema, spool);
          return null;
        }
        steps.end("stages");
        runJob(rows, schema, spool);
        if (kept != null) keepRun(plan, rows);
        return null;
      }
    });
  }

  private void keepRun(SparkPlan plan, RDD<InternalRow> rows) {
    try {
      String execution = spark.sparkContext().getLocalProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
      Long number = execution == null ? null : Long.valueOf(execution);
      if (isUnchanged()) session.plans().keepRun(kept, KeptRun.of(plan, rows, files(), number));
    } catch (Exception failure) {
      Platform.throwException(failure);
    }
  }

  /** Spark's distributed form of a LIMIT reads every partition; the collecting form stops when it has enough. */
  private static boolean isSmallLimit(SparkPlan plan, StructType schema) {
    SparkPlan root = plan instanceof AdaptiveSparkPlanExec ? ((AdaptiveSparkPlanExec) plan).inputPlan() : plan;
    if (!(root instanceof CollectLimitExec)) return false;
    return SomeRows.areFew(((CollectLimitExec) root).limit(), schema);
  }

  /** Its distributed form is a task that stops by itself, then. */
  private static boolean isOneTask(SparkPlan limit) {
    return limit instanceof CollectLimitExec
        && ((CollectLimitExec) limit).child().outputPartitioning() == SinglePartition$.MODULE$;
  }

  /** The log says of the files that were chosen for a LIMIT that they have more rows than they have. */
  private InternalRow[] ofAllFiles(QueryExecution execution, SomeRows some) {
    some.wantAll();
    return new OptimizedQuery(spark, execution.analyzed(), execution.optimizedPlan()).executedPlan().executeCollect();
  }

  private void addRows(InternalRow[] rows, StructType schema, ResultSpool spool) {
    scala.collection.Iterator<InternalRow> iterator = CollectionConverters.asScala(Arrays.asList(rows).iterator());
    try {
      spool.add(0, partition(schema, spool).write(iterator, null, "collected"));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private void runJob(RDD<InternalRow> rows, StructType schema, final ResultSpool spool) {
    final SparkContext context = spark.sparkContext();
    scala.Function2<Object, ArrowPartition.Part, scala.runtime.BoxedUnit> receive = new scala.runtime.AbstractFunction2() {
      public Object apply(Object partition, Object part) {
        try {
          if (!spool.add(((Integer) partition).intValue(), (ArrowPartition.Part) part)) {
            context.cancelJobGroup(request.id, "no more rows of the result are taken");
          }
        } catch (IOException failure) {
          throw new UncheckedIOException(failure);
        }
        return scala.runtime.BoxedUnit.UNIT;
      }
    };
    context.runJob(rows, partition(schema, spool), receive, Scala.classTag(ArrowPartition.Part.class));
  }

  private ArrowPartition partition(StructType schema, ResultSpool spool) {
    String folder = spark.sparkContext().isLocal() ? spool.folder() : null;
    return new ArrowPartition(schema, timeZone, request, folder);
  }
}
