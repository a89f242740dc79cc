package deltagateway.session;

import java.util.Optional;

/**
 * Ends this process after its parent process has ended.
 *
 * <p>Spark's own exit at the end of its standard input runs the shutdown hooks, which may wait
 * forever: for a task that does not end, or for memory. So this class waits for them for a limited
 * time and then halts the virtual machine.
 *
 * <p>Java regards a parent that has ended but is a zombie as alive; its children have another
 * parent then.
 */
final class ParentProcessMonitor {
  private static final long CHECK_EVERY_MS = 1000L;
  private static final long GRACE_MS = 10000L;

  private ParentProcessMonitor() {}

  static void start() {
    ProcessHandle.current().parent().ifPresent(ParentProcessMonitor::start);
  }

  private static void start(ProcessHandle parent) {
    Thread thread = new Thread(() -> run(parent), "parent-watch");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  private static void run(ProcessHandle parent) {
    try {
      while (parent.isAlive() && ProcessHandle.current().parent().equals(Optional.of(parent)))
        Thread.sleep(CHECK_EVERY_MS);
      Thread.sleep(GRACE_MS);
    } catch (InterruptedException interrupted) {
      return;
    }
    Runtime.getRuntime().halt(1);
  }
}
