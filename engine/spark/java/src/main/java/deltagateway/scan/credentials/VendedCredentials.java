package deltagateway.scan.credentials;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;

/**
 * Passes credentials that a catalog vends for the files of one table to {@link
 * VendedCredentialsFileSystem}.
 *
 * <p>Hadoop's settings of one scan or write have the lease's id, with which the driver process
 * requests the credentials from Python whenever a file is opened. So it finds newer credentials
 * while a statement runs. Executors in other processes cannot request any: their tasks' settings
 * have the current credentials. No other statement or scan sees either.
 */
public final class VendedCredentials {
  private static final String PREFIX = "deltagateway.lease.";
  private static final String ID = PREFIX + "id";
  private static final String STATEMENT = PREFIX + "statement";
  private static final String CONNECTOR = PREFIX + "connector";
  private static final String ENDS = PREFIX + "ends";
  private static final String SETTING = PREFIX + "setting.";
  private static final String JOB_GROUP = "spark.jobGroup.id";

  /** Schemes of one store: metadata may have any of them. */
  private static final List<String> S3 = List.of("s3", "s3a", "s3n");

  /**
   * Suffix of settings, also of single buckets, for a store of secrets. Hadoop prefers the
   * operator's secrets there to those in other settings.
   */
  private static final String CREDENTIAL_PROVIDER = "security.credential.provider.path";

  /** Set in the driver process only. */
  private static volatile PythonCallbacks callbacks;

  private VendedCredentials() {}

  public static void answeredBy(PythonCallbacks driver) {
    callbacks = driver;
  }

  /** Returns a copy of the settings with a lease; the settings themselves if `lease` is null. */
  public static Configuration with(
      String lease, Configuration conf, Path path, SparkContext spark) {
    if (lease == null) return conf;
    Configuration copy = new Configuration(conf);
    lend(copy, lease, path, spark);
    return copy;
  }

  /**
   * Makes file systems that are opened with `conf`, for the store of `path`, use a lease. Does
   * nothing if `lease` is null.
   */
  public static void lend(Configuration conf, String lease, Path path, SparkContext spark) {
    if (lease == null) return;
    String statement = spark.getLocalProperty(JOB_GROUP);
    conf.set(ID, lease);
    conf.set(STATEMENT, statement == null ? "" : statement);
    Credentials vended;
    try {
      vended = request(conf, path.toString());
    } catch (IOException failure) {
      throw new IllegalStateException("no credentials", failure);
    }
    ClassLoader loader = VendedCredentials.class.getClassLoader();
    try {
      Class.forName(vended.connector, false, loader);
    } catch (ClassNotFoundException missing) {
      throw new RejectionException("connector", path + "\n" + vended.connector);
    }
    conf.setClassLoader(loader);
    String scheme = path.toUri().getScheme();
    for (String each : S3.contains(scheme) ? S3 : List.of(scheme)) {
      conf.set("fs." + each + ".impl", VendedCredentialsFileSystem.class.getName());
      conf.setBoolean("fs." + each + ".impl.disable.cache", true);
    }
    conf.set(CONNECTOR, vended.connector);
    if (!spark.isLocal()) vended.putInto(conf);
  }

  /** Returns the class of a lease's connector, which {@link #lend} has put into the settings. */
  public static String connector(Configuration conf) {
    return conf.get(CONNECTOR);
  }

  /** Returns the current credentials of a lease. */
  static Credentials of(Configuration conf, String location) throws IOException {
    return callbacks == null ? Credentials.of(conf) : request(conf, location);
  }

  private static Credentials request(Configuration conf, String location) throws IOException {
    ObjectNode request = StatementRequest.JSON.createObjectNode();
    request.put("statement", conf.get(STATEMENT)).put("lease", conf.get(ID)).put("place", location);
    try {
      return Credentials.of(callbacks.value(request));
    } catch (IllegalStateException failure) {
      throw new IOException(
          "the credentials for " + location + " are not available: " + failure.getMessage());
    }
  }

  /**
   * Settings of a connector, which contain secrets, until `endsMs` since the epoch, or the largest
   * number.
   */
  record Credentials(String connector, Map<String, String> settings, long endsMs) {
    static Credentials of(JsonNode answer) {
      Map<String, String> settings = new TreeMap<>();
      for (Map.Entry<String, JsonNode> field : answer.get("settings").properties())
        settings.put(field.getKey(), field.getValue().textValue());
      return new Credentials(
          answer.get("connector").textValue(),
          settings,
          answer.get("ends_ms").asLong(Long.MAX_VALUE));
    }

    static Credentials of(Configuration conf) {
      Map<String, String> settings = new TreeMap<>();
      conf.getPropsWithPrefix(SETTING).forEach(settings::put);
      return new Credentials(conf.get(CONNECTOR), settings, conf.getLong(ENDS, Long.MAX_VALUE));
    }

    private void putInto(Configuration conf) {
      conf.set(CONNECTOR, connector);
      conf.setLong(ENDS, endsMs);
      settings.forEach((name, value) -> conf.set(SETTING + name, value));
    }

    /** Returns the settings of the connector's own file system. */
    Configuration applied(Configuration conf, String scheme) {
      Configuration applied = new Configuration(conf);
      for (Map.Entry<String, String> entry : conf) {
        String name = entry.getKey();
        if (name.startsWith(PREFIX) || name.endsWith(CREDENTIAL_PROVIDER)) applied.unset(name);
      }
      applied.set("fs." + scheme + ".impl", connector);
      settings.forEach(applied::set);
      return applied;
    }

    @Override
    public String toString() {
      return connector; // without secrets
    }
  }
}
