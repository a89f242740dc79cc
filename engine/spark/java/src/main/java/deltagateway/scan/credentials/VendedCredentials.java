package deltagateway.scan.credentials;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;

/**
 * Credentials for the files of one table, which a catalog lends: where they are on their way to
 * {@link VendedCredentialsFileSystem}.
 *
 * <p>Hadoop's settings of one scan or write are told the lease's name, by which the driver's
 * process asks Python whenever a file is opened, so that newer credentials are found while a
 * statement runs. Executors of other processes cannot ask: the credentials of the moment go to them
 * with the settings of their tasks. No other statement or scan sees either.
 */
public final class VendedCredentials {
  private static final String PREFIX = "deltagateway.lease.";
  private static final String ID = PREFIX + "id";
  private static final String STATEMENT = PREFIX + "statement";
  private static final String CONNECTOR = PREFIX + "connector";
  private static final String ENDS = PREFIX + "ends";
  private static final String SETTING = PREFIX + "setting.";
  private static final String JOB_GROUP = "spark.jobGroup.id";

  /** Spellings of one store: metadata may have any. */
  private static final List<String> S3 = Arrays.asList("s3", "s3a", "s3n");

  /**
   * Ends of settings, of a bucket too, that say where Hadoop looks first: the operator may keep
   * secrets there.
   */
  private static final String STORED = "security.credential.provider.path";

  /** Of the driver's process, where statements are answered. */
  private static volatile PythonCallbacks questions;

  private VendedCredentials() {}

  public static void answeredBy(PythonCallbacks driver) {
    questions = driver;
  }

  /** These settings, or others like them with a lease; null: nothing is lent. */
  public static Configuration with(
      String lease, Configuration conf, Path place, SparkContext spark) {
    if (lease == null) return conf;
    Configuration lent = new Configuration(conf);
    lend(lent, lease, place, spark);
    return lent;
  }

  /**
   * Has the file systems that are opened with `conf`, for the store of `place`, use a lease; null:
   * nothing is lent.
   */
  public static void lend(Configuration conf, String lease, Path place, SparkContext spark) {
    if (lease == null) return;
    String statement = spark.getLocalProperty(JOB_GROUP);
    conf.set(ID, lease);
    conf.set(STATEMENT, statement == null ? "" : statement);
    Lent lent;
    try {
      lent = ask(conf, place.toString());
    } catch (IOException failure) {
      throw new IllegalStateException("no credentials", failure);
    }
    ClassLoader loader = VendedCredentials.class.getClassLoader();
    try {
      Class.forName(lent.connector, false, loader);
    } catch (ClassNotFoundException missing) {
      throw new RejectionException("connector", place + "\n" + lent.connector);
    }
    conf.setClassLoader(loader);
    String scheme = place.toUri().getScheme();
    String[] schemes = S3.contains(scheme) ? S3.toArray(new String[0]) : new String[] {scheme};
    for (int i = 0; i < schemes.length; i++) {
      conf.set("fs." + schemes[i] + ".impl", VendedCredentialsFileSystem.class.getName());
      conf.setBoolean("fs." + schemes[i] + ".impl.disable.cache", true);
    }
    conf.set(CONNECTOR, lent.connector);
    if (!spark.isLocal()) lent.putInto(conf);
  }

  /** The class of the connector of a lease that {@link #lend} has put into these settings. */
  public static String connector(Configuration conf) {
    return conf.get(CONNECTOR);
  }

  /** What the lease of a file system is worth by now. */
  static Lent of(Configuration conf, String place) throws IOException {
    return questions == null ? new Lent(conf) : ask(conf, place);
  }

  private static Lent ask(Configuration conf, String place) throws IOException {
    ObjectNode question = StatementRequest.JSON.createObjectNode();
    question.put("statement", conf.get(STATEMENT)).put("lease", conf.get(ID)).put("place", place);
    try {
      return new Lent(questions.value(question));
    } catch (IllegalStateException failure) {
      throw new IOException(
          "the credentials for " + place + " are not to be had: " + failure.getMessage());
    }
  }

  /** `endsMs` is since the epoch, or the largest number. `settings` hold secrets. */
  static final class Lent {
    final String connector;
    final Map<String, String> settings = new TreeMap<>();
    final long endsMs;

    Lent(JsonNode answer) {
      connector = answer.get("connector").textValue();
      endsMs = answer.get("ends_ms").asLong(Long.MAX_VALUE);
      for (Iterator<Map.Entry<String, JsonNode>> fields = answer.get("settings").fields();
          fields.hasNext(); ) {
        Map.Entry<String, JsonNode> field = fields.next();
        settings.put(field.getKey(), field.getValue().textValue());
      }
    }

    Lent(Configuration conf) {
      connector = conf.get(CONNECTOR);
      endsMs = conf.getLong(ENDS, Long.MAX_VALUE);
      for (Map.Entry<String, String> entry : conf) {
        String key = entry.getKey();
        if (key.startsWith(SETTING))
          settings.put(key.substring(SETTING.length()), entry.getValue());
      }
    }

    private void putInto(Configuration conf) {
      conf.set(CONNECTOR, connector);
      conf.setLong(ENDS, endsMs);
      for (Iterator<Map.Entry<String, String>> entries = settings.entrySet().iterator();
          entries.hasNext(); ) {
        Map.Entry<?, String> entry = (Map.Entry<?, String>) entries.next();
        conf.set(SETTING + entry.getKey(), entry.getValue());
      }
    }

    /** The settings of a connector's own file system. */
    Configuration applied(Configuration conf, String scheme) {
      Configuration applied = new Configuration(conf);
      for (Map.Entry<String, String> entry : conf) {
        String key = entry.getKey();
        if (key.startsWith(PREFIX) || key.endsWith(STORED)) applied.unset(key);
      }
      applied.set("fs." + scheme + ".impl", connector);
      for (Iterator<Map.Entry<String, String>> entries = settings.entrySet().iterator();
          entries.hasNext(); ) {
        Map.Entry<String, String> entry = entries.next();
        applied.set(entry.getKey(), entry.getValue());
      }
      return applied;
    }
  }
}
