package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

/** Hadoop's settings on their way to tasks. */
class TaskConfigurationTest {
  private static Configuration copied(Configuration conf) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    new TaskConfiguration(conf).write(new DataOutputStream(bytes));
    Configuration copy = new Configuration(false);
    copy.readFields(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
    return copy;
  }

  @Test
  void setValuesAndDefaultsOfHadoopArrive() throws IOException {
    Configuration conf = new Configuration();
    conf.set("fs.s3a.access.key", "ä key");
    Configuration copy = copied(conf);
    assertEquals("ä key", copy.get("fs.s3a.access.key"));
    assertEquals(conf.get("io.file.buffer.size"), copy.get("io.file.buffer.size"));
  }

  @Test
  void defaultsOfMapReduceAreLeftOutUnlessTheyAreSet() throws IOException {
    Configuration conf = new JobConf();
    String unused = "mapreduce.map.memory.mb";
    assertNotNull(conf.get("mapreduce.task.io.sort.mb"));
    assertNull(copied(conf).get("mapreduce.task.io.sort.mb"));
    conf.set(unused, "77");
    assertEquals("77", copied(conf).get(unused));
  }
}
