import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode and a DataNode in a folder; prints the NameNode's port, and ends with its standard input. */
public final class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.setBoolean("dfs.permissions.enabled", false);
    MiniDFSCluster.Builder builder = new MiniDFSCluster.Builder(conf, new File(arguments[0]));
    MiniDFSCluster cluster = builder.numDataNodes(1).build();
    cluster.waitActive();
    System.out.println(cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
