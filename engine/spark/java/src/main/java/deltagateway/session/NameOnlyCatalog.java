package deltagateway.session;

import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Catalog of Spark that has a name and nothing else, so that `current_catalog()` and
 * `current_schema()` return those of the gateway's session. Tables are never looked up in it: the
 * guard rejects such names. Spark creates it by its class name.
 */
public final class NameOnlyCatalog extends DelegatingCatalogExtension {
  private String name;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    return new String[] {"default"};
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    return true;
  }
}
