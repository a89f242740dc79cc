package deltagateway.scan;

import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableUtils;

/**
 * Hadoop's settings for tasks that read files. Each scan of a query serializes them, so they leave
 * out the thousand defaults of MapReduce and YARN, which no reader uses, and the source of each
 * setting, which Hadoop compresses one by one. Both together take longer than planning the scan.
 */
public final class TaskConfiguration extends Configuration {
  private static final Set<String> UNUSED_DEFAULTS =
      Set.of("mapred-default.xml", "yarn-default.xml");
  private static final String[] NO_SOURCES = null;

  public TaskConfiguration(Configuration conf) {
    super(conf);
  }

  /** Writes the settings in Hadoop's format, which {@link Configuration#readFields} reads. */
  @Override
  public void write(DataOutput out) throws IOException {
    List<Map.Entry<String, String>> used = new ArrayList<>();
    for (Map.Entry<String, String> entry : this) if (!isUnused(entry.getKey())) used.add(entry);
    WritableUtils.writeVInt(out, used.size());
    for (Map.Entry<String, String> entry : used) {
      Text.writeString(out, entry.getKey());
      Text.writeString(out, entry.getValue());
      WritableUtils.writeCompressedStringArray(out, NO_SOURCES);
    }
  }

  private boolean isUnused(String key) {
    String[] sources = getPropertySources(key);
    return sources != null
        && sources.length > 0
        && UNUSED_DEFAULTS.contains(sources[sources.length - 1]);
  }
}
