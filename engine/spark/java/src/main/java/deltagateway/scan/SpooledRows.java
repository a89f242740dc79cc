package deltagateway.scan;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of a client in files on the driver's disk, with Arrow messages that Python has checked
 * (engine/spool/spooled_rows.py).
 *
 * <p>A task reads one file, message by message. On another machine it fetches the file from the
 * driver, as Spark's executors fetch jars.
 */
final class SpooledRows {
  private static final long LOCAL_ROWS_MAX = 20_000;
  private static final long LOCAL_BYTES_MAX = 4 << 20;

  /** The files that the driver serves; those that were removed are forgotten with the next ones. */
  private static final Set<File> SERVED = ConcurrentHashMap.newKeySet();

  private final List<String> files = new ArrayList<>();
  private final long rows;
  private final long bytes;

  SpooledRows(JsonNode spooled) {
    for (JsonNode file : spooled.get("files")) files.add(file.textValue());
    rows = spooled.get("rows").longValue();
    bytes = spooled.get("bytes").longValue();
  }

  long rows() {
    return rows;
  }

  long bytes() {
    return bytes;
  }

  /** Returns true if the rows fit in a local relation, which needs no job. */
  boolean isSmall() {
    return rows <= LOCAL_ROWS_MAX && bytes <= LOCAL_BYTES_MAX;
  }

  /** Returns the messages of all files. */
  List<byte[]> messages() throws IOException {
    List<byte[]> messages = new ArrayList<>();
    for (String file : files) {
      try (ReadableByteChannel channel = FileChannel.open(Path.of(file))) {
        CollectionConverters.asJava(ArrowConverters$.MODULE$.getBatchesFromStream(channel))
            .forEachRemaining(messages::add);
      }
    }
    return messages;
  }

  RDD<Row> scan(SparkSession spark, StructType schema, String timeZone) {
    boolean isLocal = spark.sparkContext().isLocal();
    List<String> places = isLocal ? files : files.stream().map(SpooledRows::served).toList();
    return spark
        .sparkContext()
        .parallelize(
            ScalaConversions.seq(places),
            Math.max(1, places.size()),
            ScalaConversions.classTag(String.class))
        .mapPartitions(
            new Reader(schema, timeZone, isLocal), false, ScalaConversions.classTag(Row.class));
  }

  /** Returns the URI of a file that the driver serves from now on. */
  private static String served(String path) {
    SERVED.removeIf(
        file -> {
          if (file.exists()) return false;
          SparkEnv.get().rpcEnv().fileServer().removeFile(file.getName());
          return true;
        });
    File file = new File(path);
    SERVED.add(file);
    return SparkEnv.get().rpcEnv().fileServer().addFile(file);
  }

  private record Reader(StructType schema, String timeZone, boolean isLocal)
      implements Function1<scala.collection.Iterator<String>, scala.collection.Iterator<Row>>,
          Serializable {
    @Override
    public scala.collection.Iterator<Row> apply(scala.collection.Iterator<String> places) {
      TaskContext task = TaskContext.get();
      Messages messages = new Messages(CollectionConverters.asJava(places), isLocal);
      task.addTaskCompletionListener((TaskCompletionListener) ended -> messages.close());
      scala.collection.Iterator<InternalRow> rows =
          ArrowConverters$.MODULE$.fromBatchIterator(
              CollectionConverters.asScala(messages), schema, timeZone, false, false, task);
      return ErasedIterators.as(rows);
    }
  }

  /** Messages of files that are opened one after the other. */
  private static final class Messages implements Iterator<byte[]> {
    private final Iterator<String> places;
    private final boolean isLocal;
    private ReadableByteChannel channel;
    private Iterator<byte[]> ofFile = Collections.emptyIterator();

    Messages(Iterator<String> places, boolean isLocal) {
      this.places = places;
      this.isLocal = isLocal;
    }

    @Override
    public boolean hasNext() {
      while (!ofFile.hasNext() && places.hasNext()) open(places.next());
      return ofFile.hasNext();
    }

    @Override
    public byte[] next() {
      return ofFile.next();
    }

    private void open(String place) {
      close();
      channel =
          ScalaConversions.function(
                  () ->
                      isLocal
                          ? FileChannel.open(Path.of(place))
                          : SparkEnv.get().rpcEnv().openChannel(place))
              .apply();
      ofFile = CollectionConverters.asJava(ArrowConverters$.MODULE$.getBatchesFromStream(channel));
    }

    void close() {
      if (channel == null) return;
      ReadableByteChannel opened = channel;
      channel = null;
      ScalaConversions.function(
              () -> {
                opened.close();
                return null;
              })
          .apply();
    }
  }
}
