package deltagateway.scan;

import java.io.Serializable;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The paths in a volume of the files of a scan, which `input_file_name()` and `_metadata.file_path`
 * show in place of the physical ones. They are URL-encoded, as Spark's are. A file that is not
 * below the root has none, and shows nothing.
 */
public final class VolumePaths extends scala.runtime.AbstractFunction1 implements Serializable {
  private final String root;
  private final String shownRoot;

  /** `shownRoot` is the path in the volume of the folder `root`. */
  public VolumePaths(String root, String shownRoot) {
    this.root = encoded(root);
    this.shownRoot = encoded(shownRoot);
  }

  private static String encoded(String path) {
    return new Path(path).toUri().getRawPath();
  }

  /** `places` is null for files that are not in a volume. */
  public static scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>
      extractors(
          scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>> ofSpark,
          VolumePaths places) {
    if (places == null) return ofSpark;
    return (scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>)
        ofSpark.updated(FileFormat$.MODULE$.FILE_PATH(), places);
  }

  /** The value of `_metadata.file_path`. */
  public Object apply(Object file) {
    return UTF8String.fromString(shown((PartitionedFile) file));
  }

  /** Spark has told this thread the physical path right before. */
  public void tell(PartitionedFile file) {
    InputFileBlockHolder.set(shown(file), file.start(), file.length());
  }

  private String shown(PartitionedFile file) {
    String path = URI.create(file.urlEncodedPath()).getRawPath();
    return path.startsWith(root + "/") ? shownRoot + path.substring(root.length()) : "";
  }
}
