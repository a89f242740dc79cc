package deltagateway;

import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * Where the paths of one log are resolved. Strings are decoded paths: `%`, `#`, `?` and blanks in them mean themselves,
 * which is how Hadoop's Path(String) reads text behind a scheme.
 */
final class TableRoot {
  private static final Pattern URI = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:/.*", Pattern.DOTALL);

  private final String base;
  private final String authority;

  TableRoot(String root) {
    String trimmed = root;
    while (trimmed.length() > 1 && trimmed.endsWith("/")) trimmed = trimmed.substring(0, trimmed.length() - 1);
    this.base = URI.matcher(trimmed).matches() ? trimmed : "file:" + trimmed;
    Path path = new Path(base);
    String host = path.toUri().getAuthority();
    this.authority = path.toUri().getScheme() + ":" + (host == null ? "" : "//" + host);
  }

  Path path() {
    return new Path(base);
  }

  /** `text` is relative to the root, absolute on the root's file system, or a URI. */
  Path resolve(String text) {
    if (text.startsWith("/")) return new Path(authority + text);
    if (URI.matcher(text).matches()) return new Path(text);
    return new Path(base + "/" + text);
  }
}
