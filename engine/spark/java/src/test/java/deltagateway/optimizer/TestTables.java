package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.TestSpark;
import deltagateway.internals.TreeVisitor;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.TableScan;
import deltagateway.session.GatewayDriver;
import deltagateway.session.StatementQueryExecution;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import scala.Function0;

/**
 * Tables of Parquet files with statistics, which a server in this process answers with as Python
 * does while Spark plans.
 */
final class TestTables {
  private static final Map<String, TestTables> TABLES = new ConcurrentHashMap<>();
  private static final int PORT = serve();
  static final SparkSession SESSION = session();
  private static int count;

  private final String id;
  private final Path folder;
  private final StructType columns;
  private final ObjectNode estimate = StatementRequest.JSON.createObjectNode();
  private final List<String> partitionColumns;

  /** The requests for files. */
  final List<JsonNode> requests = new ArrayList<>();

  final LogicalRelation relation;

  private TestTables(String name, String query, long bytes, List<String> partitionColumns) {
    this.id = name + "-" + count++;
    this.partitionColumns = partitionColumns;
    try {
      this.folder = Files.createTempDirectory("gateway-" + name).toRealPath();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    Dataset<Row> rows = SESSION.sql(query);
    this.columns = rows.schema().asNullable();
    var writer = rows.write().mode("overwrite");
    if (!partitionColumns.isEmpty()) {
      writer = writer.partitionBy(partitionColumns.toArray(String[]::new));
    }
    writer.parquet(folder.resolve("data").toString());
    describe(query, bytes);
    TABLES.put(id, this);
    StatementRequest.Scan scan = new StatementRequest.Scan(request(bytes));
    var callbacks = new PythonCallbacks(PORT, "secret");
    FileListing listing = new FileListing(callbacks, id, 0, scan.constants, "UTC");
    PrunedFileIndex files = new PrunedFileIndex(id, scan, listing);
    this.relation = (LogicalRelation) new TableScan(SESSION, files).relation();
    Dataset$.MODULE$.ofRows(SESSION, relation).createOrReplaceTempView(name);
  }

  /**
   * Names a table with the rows of a query. `bytes` is its size in the log; 0: the size of its
   * files.
   */
  static TestTables table(String name, String query, long bytes, String... partitionColumns) {
    return new TestTables(name, query, bytes, List.of(partitionColumns));
  }

  /** Returns a session with the gateway's rules and their settings in a server. */
  private static SparkSession session() {
    GatewayDriver.registerRules(TestSpark.SPARK.extensions());
    SparkSession session = TestSpark.SPARK.newSession();
    String marks = "spark.sql.optimizer.singleTaskExecution.";
    session.conf().set(marks + "enabled", "false");
    session.conf().set(marks + "maxNumFiles", "1000000");
    session.conf().set(marks + "minNumBytes", "0");
    session.conf().set(marks + "minNumFiles", "0");
    return session;
  }

  static StatementQueryExecution query(String text) {
    return new StatementQueryExecution(SESSION, TestSpark.parsed(text));
  }

  static LogicalPlan optimized(String text) {
    return query(text).optimizedPlan();
  }

  /** Returns the plan that is optimized by cost, with the statistics of the log. */
  static LogicalPlan estimated(String text) {
    return with(Map.of("spark.sql.cbo.enabled", "true"), () -> optimized(text));
  }

  /** Returns the planned query, before Spark prepares it for its execution. */
  static SparkPlan planned(String text) {
    return query(text).sparkPlan();
  }

  /** Runs work with changed settings. */
  static <T> T with(Map<String, String> changes, Function0<T> work) {
    SQLConf settings = SESSION.sessionState().conf().clone();
    changes.forEach(settings::setConfString);
    return SQLConf$.MODULE$.withExistingConf(settings, work);
  }

  /** Runs work without a rule. */
  static <T> T without(OptimizerRule rule, Function0<T> work) {
    return with(Map.of(rule.key(), "false"), work);
  }

  /** Returns the nodes of a class in a plan, from its root. */
  static <T> List<T> nodes(TreeNode<?> plan, Class<T> kind) {
    List<T> found = new ArrayList<>();
    new TreeVisitor() {
      @Override
      public void visit(TreeNode<?> node) {
        if (kind.isInstance(node)) found.add(kind.cast(node));
        visitFields(node);
      }
    }.visit(plan);
    return found;
  }

  private ObjectNode request(long bytes) {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    node.put("relation", id).put("metadata", "_metadata").put("root", folder.toString());
    node.put("shown_root", "").put("accepts_hard_links", false).putNull("lease");
    node.put("source", count).put("hidden", false).put("by_id", false);
    node.put("bytes", bytes == 0 ? estimate.get("bytes").longValue() : bytes);
    node.put("schema", columns.json()).put("read", columns.json()).put("physical", columns.json());
    for (String name : List.of("path_columns", "allowed_roots", "excluded_roots")) {
      node.putArray(name);
    }
    var partitions = node.putArray("partition_columns");
    partitionColumns.forEach(partitions::add);
    node.putObject("shown");
    node.putObject("vectors");
    return node.putNull("row_tracking").putNull("format");
  }

  private List<Path> files() {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(path -> path.toString().endsWith(".parquet")).sorted().toList();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static long size(Path file) {
    try {
      return Files.size(file);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private void describe(String query, long bytes) {
    long fileBytes = files().stream().mapToLong(TestTables::size).sum();
    estimate.put("files", files().size()).put("bytes", bytes == 0 ? fileBytes : bytes);
    estimate.put("rows", SESSION.sql(query).count());
    estimate.put("largest", folder.relativize(files().get(0)).toString());
    ObjectNode known = estimate.putObject("columns");
    for (StructField field : columns.fields()) {
      ObjectNode column = known.putObject(field.name()).putNull("distinct");
      String name = "`" + field.name() + "`";
      Row bounds =
          SESSION
              .sql(
                  "SELECT min(%1$s), max(%1$s), count_if(%1$s IS NULL) FROM (%2$s)"
                      .formatted(name, query))
              .head();
      setBound(column, "low", bounds.get(0), field.dataType());
      setBound(column, "high", bounds.get(1), field.dataType());
      column.put("nulls", bounds.getLong(2));
    }
  }

  private static void setBound(ObjectNode column, String name, Object value, DataType type) {
    column.putNull(name);
    if (value == null) return;
    if (type instanceof IntegralType) column.put(name, ((Number) value).longValue());
    if (type instanceof DecimalType) column.put(name, value.toString());
    if (type instanceof DateType)
      column.put(name, ((java.sql.Date) value).toLocalDate().toEpochDay());
  }

  /** Sets a number in the statistics of the files. */
  TestTables withStatistic(String name, long value) {
    estimate.put(name, value);
    return this;
  }

  /** Sets the bounds of a decimal column in the statistics. */
  TestTables withBounds(String column, String low, String high) {
    ((ObjectNode) estimate.get("columns").get(column)).put("low", low).put("high", high);
    return this;
  }

  private static int serve() {
    try {
      ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      Thread thread = new Thread(() -> answerAll(server), "test-callbacks");
      thread.setDaemon(true);
      thread.start();
      return server.getLocalPort();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static void answerAll(ServerSocket server) {
    while (true) {
      try (Socket socket = server.accept()) {
        var in =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        in.readLine(); // the password
        JsonNode question = StatementRequest.JSON.readTree(in.readLine());
        TestTables table = TABLES.get(question.get("statement").textValue());
        OutputStream out = socket.getOutputStream();
        out.write("null\n".getBytes(StandardCharsets.UTF_8));
        out.write(question.has("estimate") ? table.estimateOf(question) : table.list(question));
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }

  private byte[] estimateOf(JsonNode question) {
    ObjectNode answer = estimate.deepCopy();
    ObjectNode known = answer.putObject("columns");
    for (JsonNode column : question.get("estimate")) {
      JsonNode statistics = estimate.get("columns").get(column.textValue());
      if (statistics != null) known.set(column.textValue(), statistics);
    }
    return (answer + "\n").getBytes(StandardCharsets.UTF_8);
  }

  private byte[] list(JsonNode question) throws IOException {
    requests.add(question);
    var bytes = new ByteArrayOutputStream();
    List<Path> files = files();
    try (var allocator = ArrowUtils$.MODULE$.rootAllocator().newChildAllocator(id, 0, 1 << 24);
        var paths = new VarCharVector("path", allocator);
        var sizes = new BigIntVector("size", allocator);
        var times = new BigIntVector("time", allocator)) {
      List<FieldVector> vectors = new ArrayList<>(List.of(paths, sizes, times));
      for (String column : partitionColumns) vectors.add(new VarCharVector(column, allocator));
      for (int i = 0; i < files.size(); i++) {
        String path = folder.relativize(files.get(i)).toString();
        paths.setSafe(i, path.getBytes(StandardCharsets.UTF_8));
        sizes.setSafe(i, size(files.get(i)));
        times.setSafe(i, 0);
        for (int at = 0; at < partitionColumns.size(); at++) {
          String value = path.split(partitionColumns.get(at) + "=")[1].split("/")[0];
          ((VarCharVector) vectors.get(3 + at)).setSafe(i, value.getBytes(StandardCharsets.UTF_8));
        }
      }
      vectors.forEach(vector -> vector.setValueCount(files.size()));
      try (var root = new VectorSchemaRoot(vectors);
          var writer = new ArrowStreamWriter(root, null, bytes)) {
        root.setRowCount(files.size());
        writer.start();
        writer.writeBatch();
        writer.end();
      }
    }
    return bytes.toByteArray();
  }
}
