package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.scan.TableRoot;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.JobContextImpl;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage;
import org.apache.spark.internal.io.FileNameSpec;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Option;

/** Files of tasks and jobs that commit, abort and fail. */
class InPlaceCommitProtocolTest {
  private static final FileNameSpec SPEC = new FileNameSpec("", ".parquet");

  @TempDir Path folder;
  private final Configuration conf = new Configuration();
  private final JobContext job = new JobContextImpl(conf, new JobID("job", 1));
  private InPlaceCommitProtocol committer;

  @BeforeEach
  void start() {
    committer = committer();
    committer.setupJob(job);
  }

  private InPlaceCommitProtocol committer() {
    return new InPlaceCommitProtocol(
        new TableRoot(folder.toString(), new String[0], new String[0], false));
  }

  private TaskAttemptContext attempt(int task, int attempt) {
    return new TaskAttemptContextImpl(
        conf, new TaskAttemptID("job", 1, TaskType.REDUCE, task, attempt));
  }

  /** Writes a file of so many bytes as an attempt does. */
  private Path write(TaskAttemptContext attempt, String partition, int size) throws IOException {
    String path = committer.newTaskTempFile(attempt, Option.apply(partition), SPEC);
    Path file = Path.of(java.net.URI.create(path).getPath());
    Files.createDirectories(file.getParent());
    return Files.write(file, new byte[size]);
  }

  private long remaining() throws IOException {
    try (var files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).count();
    }
  }

  @Test
  void committedFilesStayWhereTheyWereWritten() throws IOException {
    TaskAttemptContext task = attempt(7, 0);
    committer.setupTask(task);
    Path first = write(task, null, 3);
    Path second = write(task, "p=1/q=x", 5);
    TaskCommitMessage message = committer.commitTask(task);
    assertTrue(committer.files().isEmpty());
    committer.onTaskCommit(message);
    committer.commitJob(job, ScalaConversions.seq(List.of(message)));
    assertEquals(2, committer.files().size());
    InPlaceCommitProtocol.WrittenFile plain = committer.files().get(0);
    assertEquals(folder.relativize(first).toString(), plain.path());
    assertTrue(plain.path().matches("part-00007-[0-9a-f-]{36}\\.parquet"), plain.path());
    assertNull(plain.partition());
    assertEquals(3, plain.size());
    assertEquals(Files.getLastModifiedTime(first).toMillis(), plain.modificationTime());
    assertEquals("p=1/q=x", committer.files().get(1).partition());
    assertEquals(
        second.toUri().getPath(),
        committer.path(committer.files().get(1).path()).toUri().getPath());
    assertEquals(2, remaining());
  }

  @Test
  void abortedAttemptLeavesNoFiles() throws IOException {
    TaskAttemptContext failed = attempt(0, 0);
    committer.setupTask(failed);
    write(failed, null, 3);
    write(failed, "p=1", 3);
    committer.abortTask(failed);
    assertEquals(0, remaining());
    TaskAttemptContext again = attempt(0, 1);
    committer.setupTask(again);
    write(again, null, 3);
    committer.onTaskCommit(committer.commitTask(again));
    assertEquals(1, committer.files().size());
    assertEquals(1, remaining());
  }

  @Test
  void abortedJobDeletesTheFilesOfItsTasks() throws IOException {
    for (int task = 0; task < 2; task++) {
      TaskAttemptContext attempt = attempt(task, 0);
      committer.setupTask(attempt);
      write(attempt, null, 3);
      TaskCommitMessage message = committer.commitTask(attempt);
      if (task == 0) committer.onTaskCommit(message); // the driver knows of the first only
    }
    Path other = Files.createFile(folder.resolve("other"));
    committer.abortJob(job);
    assertEquals(1, remaining());
    assertTrue(Files.exists(other));
  }

  @Test
  void taskThatEndsAfterItsJobDoesNotCommit() throws IOException {
    TaskAttemptContext late = attempt(0, 0);
    committer.setupTask(late);
    write(late, null, 3);
    committer.abortJob(job);
    assertThrows(IllegalStateException.class, () -> committer.commitTask(late));
    committer.abortTask(late);
    assertEquals(0, remaining());
  }

  @Test
  void jobsDoNotShareTheirFiles() throws IOException {
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    write(task, null, 3);
    committer.commitTask(task);
    InPlaceCommitProtocol other = committer();
    other.setupJob(job);
    other.abortJob(job);
    assertEquals(1, remaining());
    committer.abortJob(job);
    assertEquals(0, remaining());
  }

  @Test
  void missingFileFailsTheCommit() throws IOException {
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    Files.delete(write(task, null, 3));
    assertThrows(UncheckedIOException.class, () -> committer.commitTask(task));
  }

  @Test
  void filesOfACommittedJobCanBeDeleted() throws IOException {
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    write(task, null, 3);
    committer.onTaskCommit(committer.commitTask(task));
    committer.deleteAll(conf);
    assertEquals(0, remaining());
    committer.deleteAll(conf); // files that are gone are no error
  }

  @ParameterizedTest
  @CsvSource({"200, true", "253, true", "254, false", "1000, false"})
  void longPartitionNamesAreShortened(int length, boolean isKept) throws IOException {
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    String partition = "p=" + "v".repeat(length);
    Path file = write(task, partition, 1);
    String name = file.getParent().getFileName().toString();
    assertEquals(isKept, name.equals(partition));
    assertTrue(name.startsWith("p=") && name.length() <= 255, name);
    committer.onTaskCommit(committer.commitTask(task));
    assertEquals(partition, committer.files().get(0).partition());
  }

  @Test
  void longColumnNamesAreLeftOutOfFolders() throws IOException {
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    Path file = write(task, "ä".repeat(120) + "=" + "v".repeat(100), 1);
    assertEquals(36, file.getParent().getFileName().toString().length());
    assertTrue(Files.exists(file));
  }

  @Test
  void filesAreNotWrittenThroughALinkOrElsewhere(@TempDir Path other) throws IOException {
    Files.createSymbolicLink(folder.resolve("p=1"), other);
    TaskAttemptContext task = attempt(0, 0);
    committer.setupTask(task);
    assertThrows(RejectionException.class, () -> write(task, "p=1", 1));
    write(task, "p=2", 1);
    assertThrows(
        UnsupportedOperationException.class,
        () -> committer.newTaskTempFileAbsPath(task, other.toString(), SPEC));
    try (var files = Files.list(other)) {
      assertFalse(files.findAny().isPresent());
    }
  }
}
