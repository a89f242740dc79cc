package deltagateway.scan;

import deltagateway.protocol.RejectionException;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * Resolves the paths of one log and confines them to allowed folders.
 *
 * <p>`engine/storage/confinement.py` defines what is allowed and checks the table as a whole. This
 * class checks each path that becomes one of Hadoop's, which folds `..`. Strings are decoded paths:
 * `%`, `#`, `?` and blanks have no special meaning, as in Hadoop's Path(String) after a scheme.
 *
 * <p>Symbolic links are followed when a file is opened, by {@link #ensureReal}.
 */
public final class TableRoot implements Serializable {
  private static final long serialVersionUID = 1;
  private static final Pattern URI = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:/.*", Pattern.DOTALL);
  private static final Pattern LEADS_UP = Pattern.compile("(.*/)?\\.\\.(/.*)?", Pattern.DOTALL);

  private static final int OWN_LINKS_MAX = 10_000;

  /** Files with several names, all of them in the table's folder, with their time of change. */
  private static final Set<String> OWN_LINKS = ConcurrentHashMap.newKeySet();

  private final String root;
  private final String[] allowed;
  private final String base;
  private final String authority;
  private final String[] prefixes;
  private final String[] excluded;
  private final boolean acceptsHardLinks;
  private final String[] excludedPrefixes;
  private transient List<java.nio.file.Path> realRoots;
  private transient List<java.nio.file.Path> realExcluded;

  /**
   * `root` and `allowed` are folders that may contain files, except below `excluded`. Files may
   * have several names if `acceptsHardLinks`.
   */
  public TableRoot(String root, String[] allowed, String[] excluded, boolean acceptsHardLinks) {
    this.root = root;
    this.allowed = allowed;
    this.excluded = excluded;
    this.acceptsHardLinks = acceptsHardLinks;
    this.base = withScheme(root);
    java.net.URI uri = path().toUri();
    this.authority =
        uri.getScheme() + ":" + (uri.getAuthority() == null ? "" : "//" + uri.getAuthority());
    List<String> all = new ArrayList<>(List.of(base));
    for (String folder : allowed) all.add(withScheme(folder));
    this.prefixes = prefixes(all);
    this.excludedPrefixes = prefixes(Arrays.stream(excluded).map(TableRoot::withScheme).toList());
  }

  private static String[] prefixes(List<String> folders) {
    return folders.stream().map(folder -> normalized(folder) + "/").toArray(String[]::new);
  }

  public Path path() {
    return new Path(base);
  }

  /** Resolves a path: relative to the root, absolute on the root's file system, or a URI. */
  public Path resolve(String text) {
    if (text.isEmpty()
        || text.indexOf(0) >= 0
        || (text.contains("..") && LEADS_UP.matcher(text).matches())) {
      throw rejection(text);
    }
    boolean isUri = URI.matcher(text).matches();
    boolean isRelative = !isUri && !text.startsWith("/");
    String absolute =
        authority.equals("file:") && text.startsWith("//") ? text.replaceFirst("/+", "/") : text;
    Path path = new Path(isRelative ? base + "/" + text : isUri ? text : authority + absolute);
    if (isRelative && excludedPrefixes.length == 0) return path;
    String location = normalized(path.toString());
    if (startsWithAny(location, excludedPrefixes)
        || !(isRelative || startsWithAny(location, prefixes))) throw rejection(text);
    return path;
  }

  private static boolean startsWithAny(String location, String[] prefixes) {
    return Arrays.stream(prefixes).anyMatch(location::startsWith);
  }

  /** Resolves a path that must be relative to the root. */
  public Path resolveBelow(String text) {
    if (text.startsWith("/") || URI.matcher(text).matches()) throw rejection(text);
    return resolve(text);
  }

  /**
   * Rejects a local file that is located elsewhere after links are resolved, or that has a name
   * elsewhere. A missing file is reported where it is opened.
   */
  public void ensureReal(Path file) {
    if (!isLocal(file)) return;
    java.nio.file.Path real;
    try {
      real = new File(file.toUri().getPath()).toPath().toRealPath();
    } catch (IOException missing) {
      return;
    }
    if (realRoots == null) {
      realExcluded = real(Arrays.stream(excluded).map(TableRoot::withScheme).toList());
      List<String> roots = new ArrayList<>(List.of(base));
      for (String folder : allowed) roots.add(withScheme(folder));
      realRoots = real(roots);
    }
    boolean isAllowed =
        realRoots.stream().anyMatch(real::startsWith)
            && realExcluded.stream().noneMatch(real::startsWith);
    if (!isAllowed || (!acceptsHardLinks && hasOtherNames(real))) throw rejection(file.toString());
  }

  private static boolean isLocal(Path path) {
    String scheme = path.toUri().getScheme();
    return scheme == null || scheme.equals("file");
  }

  /**
   * Returns whether a file has names outside of the table's folders; false on file systems that do
   * not count names.
   */
  private boolean hasOtherNames(java.nio.file.Path file) {
    try {
      int others = (Integer) Files.getAttribute(file, "unix:nlink");
      if (others == 1) return false;
      Object key = Files.getAttribute(file, "fileKey");
      Object changed = Files.getAttribute(file, "unix:ctime");
      String state = root + "\n" + key + " " + others + " " + changed;
      if (OWN_LINKS.contains(state)) return false;
      for (java.nio.file.Path folder : realRoots) {
        if (others > 0 && file.startsWith(folder)) others -= countNames(file, folder.toFile());
      }
      if (others <= 0 && OWN_LINKS.size() < OWN_LINKS_MAX) OWN_LINKS.add(state);
      return others > 0;
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException unknown) {
      return false;
    }
  }

  /** Returns the number of names of a file below a folder, without following links. */
  private static int countNames(java.nio.file.Path file, File folder) throws IOException {
    File[] found = folder.listFiles();
    int count = 0;
    for (File entry : found == null ? new File[0] : found) {
      if (Files.isSymbolicLink(entry.toPath())) continue;
      if (entry.isDirectory()) count += countNames(file, entry);
      else if (Files.isSameFile(entry.toPath(), file)) count++;
    }
    return count;
  }

  /** Rejects a file to be written if a folder between the root and the file is a link. */
  public void ensureOwn(Path file) {
    if (!isLocal(file)) return;
    java.nio.file.Path own = local(base);
    java.nio.file.Path folder = new File(file.toUri().getPath()).toPath().getParent();
    while (folder != null && folder.startsWith(own) && !folder.equals(own)) {
      if (Files.isSymbolicLink(folder)) throw rejection(file.toString());
      folder = folder.getParent();
    }
  }

  /** Returns the local folders that exist, with links resolved. */
  private static List<java.nio.file.Path> real(List<String> folders) {
    List<java.nio.file.Path> found = new ArrayList<>();
    for (String folder : folders) {
      java.nio.file.Path local = local(folder);
      try {
        if (local != null) found.add(local.toRealPath());
      } catch (IOException missing) {
        continue; // has no files
      }
    }
    return found.stream().distinct().toList();
  }

  /** Returns the path on this machine, or null if it is elsewhere. */
  private static java.nio.file.Path local(String location) {
    Path path = new Path(location);
    return "file".equals(path.toUri().getScheme())
        ? new File(path.toUri().getPath()).toPath()
        : null;
  }

  private RejectionException rejection(String text) {
    return new RejectionException("log path", root + "\n" + text);
  }

  private static String withScheme(String location) {
    String trimmed = location;
    while (trimmed.length() > 1 && trimmed.endsWith("/"))
      trimmed = trimmed.substring(0, trimmed.length() - 1);
    return URI.matcher(trimmed).matches() ? trimmed : "file:" + trimmed;
  }

  /** Returns a URI as Hadoop prints it, with one name for the schemes of a store. */
  private static String normalized(String uri) {
    String text = new Path(uri).toString();
    int colon = text.indexOf(':');
    String scheme = text.substring(0, colon).toLowerCase(Locale.ROOT);
    String store =
        switch (scheme) {
          case "s3a", "s3n" -> "s3";
          case "gcs" -> "gs";
          case "abfs", "abfss" -> "az";
          default -> scheme;
        };
    return store + text.substring(colon);
  }
}
