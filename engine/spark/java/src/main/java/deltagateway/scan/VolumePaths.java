package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Paths in a volume of the files of a scan. `input_file_name()` and `_metadata.file_path` return
 * them instead of the physical paths. They are URL-encoded, as Spark's are. The path of a file that
 * is not below the root is empty.
 */
public final class VolumePaths implements Function1<PartitionedFile, Object>, Serializable {
  private static final long serialVersionUID = 1;

  private final String root;
  private final String volumeRoot;

  /** `volumeRoot` is the path in the volume of the folder `root`. */
  public VolumePaths(String root, String volumeRoot) {
    this.root = encoded(root);
    this.volumeRoot = encoded(volumeRoot);
  }

  private static String encoded(String path) {
    return new Path(path).toUri().getRawPath();
  }

  /**
   * Returns Spark's extractors of constant metadata, with the paths in the volume. `paths` is null
   * for files that are not in a volume.
   */
  public static scala.collection.immutable.Map<String, Function1<PartitionedFile, Object>>
      extractors(
          scala.collection.immutable.Map<String, Function1<PartitionedFile, Object>> extractors,
          VolumePaths paths) {
    if (paths == null) return extractors;
    Map<String, Function1<PartitionedFile, Object>> all =
        new HashMap<>(CollectionConverters.asJava(extractors));
    all.put(FileFormat$.MODULE$.FILE_PATH(), paths);
    return ScalaConversions.map(all);
  }

  /** Returns the value of `_metadata.file_path`. */
  @Override
  public Object apply(PartitionedFile file) {
    return UTF8String.fromString(path(file));
  }

  /** Sets the value of `input_file_name()`, after Spark has set it to the physical path. */
  public void setInputFile(PartitionedFile file) {
    InputFileBlockHolder.set(path(file), file.start(), file.length());
  }

  private String path(PartitionedFile file) {
    String path = URI.create(file.urlEncodedPath()).getRawPath();
    return path.startsWith(root + "/") ? volumeRoot + path.substring(root.length()) : "";
  }
}
