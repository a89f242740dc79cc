package deltagateway.session;

import java.util.Optional;

/**
 * Ends this process when the one that started it is gone.
 *
 * <p>Spark's own exit at the end of its standard input runs the shutdown hooks, which may wait for
 * ever: for a task that does not end, or for a heap that is full. So this one gives them a while
 * and then stops the machine.
 *
 * <p>A parent that has ended and whose own parent has not waited for it (a zombie) counts as alive
 * to Java; its children have another parent by then.
 */
public final class ParentProcessMonitor implements Runnable {
  private static final long LOOK_EVERY_MS = 1000L;
  private static final long GRACE_MS = 10000L;

  static void start() {
    Thread thread = new Thread(new ParentProcessMonitor(), "parent-watch");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  public void run() {
    Optional<ProcessHandle> parent = ProcessHandle.current().parent();
    if (!parent.isPresent()) return;
    ProcessHandle server = parent.get();
    try {
      while (server.isAlive() && parent.equals(ProcessHandle.current().parent()))
        Thread.sleep(LOOK_EVERY_MS);
      Thread.sleep(GRACE_MS);
    } catch (InterruptedException interrupted) {
      return;
    }
    Runtime.getRuntime().halt(1);
  }
}
