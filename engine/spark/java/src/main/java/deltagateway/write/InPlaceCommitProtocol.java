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

/**
 * Tasks write files under unique names where they will stay; nothing is renamed. The files of the
 * successful attempts are what was written; those of other attempts, and all of them if the job
 * fails, are deleted as far as can be reached. Whatever is left behind is in no commit, hence no
 * part of the table.
 *
 * <p>A job that fails does not wait for its other tasks, and the driver is not told of those that
 * end after it. So a task deletes what it wrote if it does not commit, however it ends, and on a
 * local master it commits by adding to a list of its job that the job takes away when it ends: a
 * task is either in that list or finds none and fails. Executors of other processes have no such
 * list: files of tasks that commit there after their job failed are left to VACUUM.
 *
 * <p>A folder that is a link is not written through.
 */
public final class InPlaceCommitProtocol extends FileCommitProtocol implements Serializable {
  /** Files of committed tasks, by the id of their job, of the jobs that run. */
  private static final Map<String, List<WrittenFile>> COMMITTED = new HashMap<>();

  private static final int NAME_BYTES_MAX = 255;

  private static volatile boolean isDriver;

  private final String id = UUID.randomUUID().toString();
  private final TableRoot root;
  private final String folder;
  private transient List<String[]> taskFiles;
  private transient List<WrittenFile> jobFiles = new ArrayList<>();

  InPlaceCommitProtocol(TableRoot root) {
    this.root = root;
    this.folder = root.path().toString();
  }

  /** The files of a committed job. */
  List<WrittenFile> files() {
    return jobFiles;
  }

  public void setupJob(JobContext job) {
    jobFiles = new ArrayList<>();
    isDriver = true;
    synchronized (COMMITTED) {
      COMMITTED.put(id, new ArrayList<>());
    }
  }

  /**
   * Spark does not abort a task that it kills while the first file is opened; its failure listeners
   * are called. Rows may be written without a task, see {@link LiteralRowsWriter}.
   */
  public void setupTask(final TaskAttemptContext task) {
    taskFiles = new ArrayList<>();
    if (TaskContext.get() == null) return;
    TaskContext.get()
        .addTaskFailureListener(
            new TaskFailureListener() {
              public void onTaskFailure(TaskContext context, Throwable failure) {
                abortTask(task);
              }
            });
  }

  public String newTaskTempFile(
      TaskAttemptContext task, scala.Option<String> directory, FileNameSpec spec) {
    int split = task.getTaskAttemptID().getTaskID().getId();
    String unique =
        String.format("part-%05d-%s", new Object[] {Integer.valueOf(split), UUID.randomUUID()});
    String name = spec.prefix() + unique + spec.suffix();
    String said = directory.isDefined() ? directory.get() : null;
    String relative = said == null ? name : shortened(said) + "/" + name;
    root.ensureOwn(path(relative));
    taskFiles.add(new String[] {relative, said});
    return path(relative).toString();
  }

  public String newTaskTempFileAbsPath(
      TaskAttemptContext task, String absoluteDirectory, FileNameSpec spec) {
    throw new UnsupportedOperationException(
        "a table's files are written below its folder: " + absoluteDirectory);
  }

  /**
   * File systems have no names of more than 255 bytes: values of partitions are what Spark says,
   * wherever they lie.
   */
  private static String shortened(String directory) {
    String[] names = directory.split("/");
    for (int i = 0; i < names.length; i++) {
      if (names[i].getBytes(StandardCharsets.UTF_8).length <= NAME_BYTES_MAX) continue;
      String column = names[i].substring(0, names[i].indexOf('=') + 1);
      String unique = UUID.nameUUIDFromBytes(names[i].getBytes(StandardCharsets.UTF_8)).toString();
      boolean fits =
          column.getBytes(StandardCharsets.UTF_8).length + unique.length() <= NAME_BYTES_MAX;
      names[i] = fits ? column + unique : unique;
    }
    return String.join("/", names);
  }

  /** Where a file lies: what Spark calls it. */
  Path path(String relative) {
    return new Path(folder + "/" + relative);
  }

  public FileCommitProtocol.TaskCommitMessage commitTask(TaskAttemptContext task) {
    ArrayList<WrittenFile> written = new ArrayList<>();
    try {
      for (int i = 0; i < taskFiles.size(); i++) {
        String[] file = taskFiles.get(i);
        String relative = file[0];
        FileStatus status =
            path(relative).getFileSystem(task.getConfiguration()).getFileStatus(path(relative));
        written.add(
            new WrittenFile(relative, file[1], status.getLen(), status.getModificationTime()));
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    if (isDriver) addToJob(written);
    return new FileCommitProtocol.TaskCommitMessage(written);
  }

  public void abortTask(TaskAttemptContext task) {
    for (int i = 0; i < taskFiles.size(); i++) delete(taskFiles.get(i)[0], task.getConfiguration());
  }

  public void onTaskCommit(FileCommitProtocol.TaskCommitMessage message) {
    jobFiles.addAll((List<WrittenFile>) message.obj());
  }

  public void commitJob(
      JobContext job,
      scala.collection.immutable.Seq<FileCommitProtocol.TaskCommitMessage> messages) {
    endJob();
  }

  public void abortJob(JobContext job) {
    List<WrittenFile> written = endJob();
    written.addAll(jobFiles);
    for (int i = 0; i < written.size(); i++) delete(written.get(i).path, job.getConfiguration());
  }

  private void addToJob(List<WrittenFile> written) {
    synchronized (COMMITTED) {
      List<WrittenFile> committed = COMMITTED.get(id);
      if (committed == null) throw new IllegalStateException("the job has ended");
      committed.addAll(written);
    }
  }

  /** What its tasks committed in this process. */
  private List<WrittenFile> endJob() {
    synchronized (COMMITTED) {
      List<WrittenFile> committed = COMMITTED.remove(id);
      return committed == null ? new ArrayList<>() : committed;
    }
  }

  /** Delete the files of a committed job, as far as can be reached. */
  void deleteAll(Configuration configuration) {
    for (int i = 0; i < jobFiles.size(); i++) delete(jobFiles.get(i).path, configuration);
  }

  private void delete(String relative, Configuration configuration) {
    try {
      path(relative).getFileSystem(configuration).delete(path(relative), false);
    } catch (IOException left) {
      logWarning(new Message("could not delete " + relative));
    }
  }

  private static final class Message extends scala.runtime.AbstractFunction0 {
    private final String text;

    Message(String text) {
      this.text = text;
    }

    public Object apply() {
      return text;
    }
  }

  /**
   * `path` is relative to the folder, as the file system spells it; `partition` what Spark says of
   * it, or null.
   */
  static final class WrittenFile implements Serializable {
    final String path;
    final String partition;
    final long size;
    final long modificationTime;

    WrittenFile(String path, String partition, long size, long modificationTime) {
      this.path = path;
      this.partition = partition;
      this.size = size;
      this.modificationTime = modificationTime;
    }
  }
}
