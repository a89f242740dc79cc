import java.io.File;
import java.io.FileOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A ResourceManager and two NodeManagers; writes their settings to a file, and ends with its standard input. */
public final class MiniYarn {
  public static void main(String[] arguments) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    // The capacity scheduler needs a file of queues.
    conf.set(
        YarnConfiguration.RM_SCHEDULER,
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
    conf.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", 2048);
    conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
    conf.setFloat("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 99.9f);
    MiniYARNCluster cluster = new MiniYARNCluster("gateway", 2, 1, 1);
    cluster.init(conf);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(60_000)) System.exit(1);
    Configuration found = new Configuration(cluster.getConfig());
    File written = new File(arguments[0]);
    File partial = new File(written.getParentFile(), "partial");
    try (FileOutputStream out = new FileOutputStream(partial)) {
      found.writeXml(out);
    }
    if (!partial.renameTo(written)) System.exit(1);
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
