package deltagateway.session;

import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of Spark's that has a name and nothing else, so that `current_catalog()` and
 * `current_schema()` answer what the gateway's session says. Tables are never looked up in it: the
 * guard lets no such name through.
 */
public final class NameOnlyCatalog extends DelegatingCatalogExtension {
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public String[] defaultNamespace() {
    return new String[] {"default"};
  }

  public boolean namespaceExists(String[] namespace) {
    return true;
  }
}
