package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import deltagateway.internals.ScalaConversions;
import java.util.Map;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Function1;

/** Paths of files in a volume. */
class VolumePathsTest {
  private static PartitionedFile file(String url) {
    return new PartitionedFile(
        InternalRow.empty(),
        SparkPath.fromUrlString(url),
        3,
        4,
        new String[0],
        0,
        10,
        ScalaConversions.emptyMap());
  }

  @ParameterizedTest
  @CsvSource({
    "file:/lake/v/a%20b.csv, /Volumes/c/s/v/a%20b.csv",
    "file:///lake/v/p/b.csv, /Volumes/c/s/v/p/b.csv",
    "file:/lake/v2/b.csv, ''",
    "file:/lake/v, ''",
  })
  void pathIsThatOfTheVolume(String url, String expected) {
    VolumePaths paths = new VolumePaths("/lake/v", "/Volumes/c/s/v");
    assertEquals(expected, paths.apply(file(url)).toString());
    paths.setInputFile(file(url));
    assertEquals(expected, InputFileBlockHolder.getInputFilePath().toString());
    assertEquals(3, InputFileBlockHolder.getStartOffset());
    InputFileBlockHolder.unset();
  }

  @Test
  void extractorOfThePathIsReplacedForVolumesOnly() {
    scala.collection.immutable.Map<String, Function1<PartitionedFile, Object>> sparks =
        ScalaConversions.map(Map.of("file_path", file -> "physical", "file_name", file -> "name"));
    VolumePaths paths = new VolumePaths("/lake/v", "/Volumes/v");
    PartitionedFile file = file("file:/lake/v/a");
    assertSame(sparks, VolumePaths.extractors(sparks, null));
    assertEquals("physical", sparks.apply("file_path").apply(file));
    assertEquals(
        "/Volumes/v/a",
        VolumePaths.extractors(sparks, paths).apply("file_path").apply(file).toString());
    assertEquals("name", VolumePaths.extractors(sparks, paths).apply("file_name").apply(file));
  }
}
