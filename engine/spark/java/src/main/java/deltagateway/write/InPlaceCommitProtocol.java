package deltagateway.write;

import deltagateway.scan.TableRoot;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
import org.apache.spark.util.TaskFailureListener;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Commit protocol whose tasks write files under unique names in their final folder; nothing is
 * renamed. The files of successful attempts are the written files. Those of other attempts, and all
 * files of a failed job, are deleted if possible. Files that remain are in no commit, so they are
 * no part of the table.
 *
 * <p>A failed job does not wait for its other tasks, and the driver does not learn about those that
 * end later. So a task that does not commit deletes its files, however it ends. On a local master,
 * a task commits by adding its files to a list of its job, which the job removes when it ends: a
 * task is in that list, or finds none and fails. Executors in other processes have no such list.
 * Files of tasks that commit there after their job has failed are left to VACUUM.
 *
 * <p>Files are not written through a folder that is a link.
 */
public final class InPlaceCommitProtocol extends FileCommitProtocol implements Serializable {
  private static final long serialVersionUID = 1;

  /** Files of committed tasks by the ids of their running jobs; guarded by itself. */
  private static final Map<String, List<WrittenFile>> COMMITTED = new HashMap<>();

  private static final int NAME_BYTES_MAX = 255;

  private static volatile boolean isDriver;

  private final String id = UUID.randomUUID().toString();
  private final TableRoot root;
  private final String folder;
  private transient List<TaskFile> taskFiles;
  private transient List<WrittenFile> jobFiles = new ArrayList<>();

  InPlaceCommitProtocol(TableRoot root) {
    this.root = root;
    this.folder = root.path().toString();
  }

  /** Returns the files of a committed job. */
  List<WrittenFile> files() {
    return jobFiles;
  }

  @Override
  public void setupJob(JobContext job) {
    jobFiles = new ArrayList<>();
    isDriver = true;
    synchronized (COMMITTED) {
      COMMITTED.put(id, new ArrayList<>());
    }
  }

  /**
   * Adds a failure listener: Spark does not abort a task that it kills while the first file is
   * opened. {@link LiteralRowsWriter} writes without a task.
   */
  @Override
  public void setupTask(TaskAttemptContext task) {
    taskFiles = new ArrayList<>();
    if (TaskContext.get() == null) return;
    TaskFailureListener abort = (context, failure) -> abortTask(task);
    TaskContext.get().addTaskFailureListener(abort);
  }

  @Override
  public String newTaskTempFile(
      TaskAttemptContext task, Option<String> directory, FileNameSpec spec) {
    int split = task.getTaskAttemptID().getTaskID().getId();
    String name =
        spec.prefix() + String.format("part-%05d-%s", split, UUID.randomUUID()) + spec.suffix();
    String partition = directory.isDefined() ? directory.get() : null;
    String relative = partition == null ? name : shortened(partition) + "/" + name;
    root.ensureOwn(path(relative));
    taskFiles.add(new TaskFile(relative, partition));
    return path(relative).toString();
  }

  @Override
  public String newTaskTempFileAbsPath(
      TaskAttemptContext task, String absoluteDirectory, FileNameSpec spec) {
    throw new UnsupportedOperationException(
        "a table's files are written below its folder: " + absoluteDirectory);
  }

  /**
   * Shortens names to the 255 bytes that file systems allow. The log has the partition values, so
   * the names have no meaning.
   */
  private static String shortened(String directory) {
    String[] names = directory.split("/");
    for (int i = 0; i < names.length; i++) {
      if (bytes(names[i]) <= NAME_BYTES_MAX) continue;
      String column = names[i].substring(0, names[i].indexOf('=') + 1);
      String unique = UUID.nameUUIDFromBytes(names[i].getBytes(StandardCharsets.UTF_8)).toString();
      names[i] = bytes(column + unique) <= NAME_BYTES_MAX ? column + unique : unique;
    }
    return String.join("/", names);
  }

  private static int bytes(String name) {
    return name.getBytes(StandardCharsets.UTF_8).length;
  }

  /** Returns the path of a file, as Spark knows it. */
  Path path(String relative) {
    return new Path(folder + "/" + relative);
  }

  @Override
  public TaskCommitMessage commitTask(TaskAttemptContext task) {
    List<WrittenFile> written = new ArrayList<>();
    try {
      for (TaskFile file : taskFiles) {
        Path path = path(file.path);
        FileStatus status = path.getFileSystem(task.getConfiguration()).getFileStatus(path);
        written.add(
            new WrittenFile(
                file.path, file.partition, status.getLen(), status.getModificationTime()));
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    if (isDriver) addToJob(written);
    return new TaskCommitMessage(new WrittenFiles(written));
  }

  @Override
  public void abortTask(TaskAttemptContext task) {
    for (TaskFile file : taskFiles) delete(file.path, task.getConfiguration());
  }

  @Override
  public void onTaskCommit(TaskCommitMessage message) {
    jobFiles.addAll(((WrittenFiles) message.obj()).files);
  }

  @Override
  public void commitJob(JobContext job, Seq<TaskCommitMessage> messages) {
    endJob();
  }

  @Override
  public void abortJob(JobContext job) {
    for (WrittenFile file : endJob()) delete(file.path, job.getConfiguration());
    deleteAll(job.getConfiguration());
  }

  private void addToJob(List<WrittenFile> written) {
    synchronized (COMMITTED) {
      List<WrittenFile> committed = COMMITTED.get(id);
      if (committed == null) throw new IllegalStateException("the job has ended");
      committed.addAll(written);
    }
  }

  /** Returns the files of tasks that committed in this process. */
  private List<WrittenFile> endJob() {
    synchronized (COMMITTED) {
      List<WrittenFile> committed = COMMITTED.remove(id);
      return committed == null ? List.of() : committed;
    }
  }

  /** Deletes the files of a committed job, if possible. */
  void deleteAll(Configuration configuration) {
    for (WrittenFile file : jobFiles) delete(file.path, configuration);
  }

  private void delete(String relative, Configuration configuration) {
    try {
      path(relative).getFileSystem(configuration).delete(path(relative), false);
    } catch (IOException remains) {
      logWarning(() -> "could not delete " + relative);
    }
  }

  /** A file of a running task: its path relative to the folder, and Spark's partition or null. */
  private record TaskFile(String path, String partition) {}

  /** A file of a committed task: the path is relative to the folder, the partition may be null. */
  record WrittenFile(String path, String partition, long size, long modificationTime)
      implements Serializable {}

  private record WrittenFiles(List<WrittenFile> files) implements Serializable {}
}
