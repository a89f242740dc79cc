package deltagateway.scan;

import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableUtils;

/**
 * Hadoop's settings on their way to tasks that read files. What they are made of is written for
 * each scan of a query, so without the thousand defaults of MapReduce and YARN, which nothing here
 * asks for, and without the source of each setting, which Hadoop compresses one by one: together
 * that takes longer than planning the scan.
 */
public final class TaskConfiguration extends Configuration {
  private static final String[] UNUSED_DEFAULTS = {"mapred-default.xml", "yarn-default.xml"};
  private static final String[] NO_SOURCES = null;

  public TaskConfiguration(Configuration conf) {
    super(conf);
  }

  /** In Hadoop's format, which {@link Configuration#readFields} reads. */
  public void write(DataOutput out) throws IOException {
    List<Map.Entry<String, String>> kept = new ArrayList<>();
    for (Map.Entry<String, String> entry : this) {
      if (!isUnused(entry.getKey())) kept.add(entry);
    }
    WritableUtils.writeVInt(out, kept.size());
    for (int i = 0; i < kept.size(); i++) {
      Map.Entry<String, String> entry = kept.get(i);
      Text.writeString(out, entry.getKey());
      Text.writeString(out, entry.getValue());
      WritableUtils.writeCompressedStringArray(out, NO_SOURCES);
    }
  }

  private boolean isUnused(String key) {
    String[] sources = getPropertySources(key);
    if (sources == null || sources.length == 0) return false;
    String last = sources[sources.length - 1];
    for (int i = 0; i < UNUSED_DEFAULTS.length; i++)
      if (last.equals(UNUSED_DEFAULTS[i])) return true;
    return false;
  }
}
