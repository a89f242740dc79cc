package deltagateway.scan;

import deltagateway.protocol.RejectionException;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * Where the paths of one log are resolved, and where they may lead: `engine/storage/confinement.py`
 * says what is allowed, and decided it for the whole table; the same is decided here for each path
 * that becomes Hadoop's, which folds `..`. Strings are decoded paths: `%`, `#`, `?` and blanks in
 * them mean themselves, which is how Hadoop's Path(String) reads text behind a scheme.
 *
 * <p>Symbolic links are followed where a file is opened, with {@link #ensureReal}.
 */
public final class TableRoot implements Serializable {
  private static final Pattern URI = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:/.*", Pattern.DOTALL);
  private static final Pattern LEADS_UP = Pattern.compile("(.*/)?\\.\\.(/.*)?", Pattern.DOTALL);

  private static final int OWN_LINKS_MAX = 10_000;

  /** Files, as they were last changed, all of whose names were found in the table's folder. */
  private static final Set<String> OWN_LINKS = ConcurrentHashMap.newKeySet();

  private final String root;
  private final String[] allowed;
  private final String base;
  private final String authority;
  private final List<String> prefixes = new ArrayList<>();
  private final String[] excluded;
  private final boolean acceptsHardLinks;
  private final List<String> excludedPrefixes = new ArrayList<>();
  private transient java.nio.file.Path[] realRoots;
  private transient java.nio.file.Path[] realExcluded;

  /**
   * Files may be located below `root` and `allowed`, but not below `excluded`. `acceptsHardLinks`:
   * a file may have several names.
   */
  public TableRoot(String root, String[] allowed, String[] excluded, boolean acceptsHardLinks) {
    this.root = root;
    this.allowed = allowed;
    this.excluded = excluded;
    this.acceptsHardLinks = acceptsHardLinks;
    this.base = withScheme(root);
    Path path = new Path(base);
    String host = path.toUri().getAuthority();
    this.authority = path.toUri().getScheme() + ":" + (host == null ? "" : "//" + host);
    prefixes.add(spelled(base) + "/");
    for (int i = 0; i < allowed.length; i++) prefixes.add(spelled(withScheme(allowed[i])) + "/");
    for (int i = 0; i < excluded.length; i++)
      excludedPrefixes.add(spelled(withScheme(excluded[i])) + "/");
  }

  public Path path() {
    return new Path(base);
  }

  /** `text` is relative to the root, absolute on the root's file system, or a URI. */
  public Path resolve(String text) {
    if (text.isEmpty()
        || text.indexOf(0) >= 0
        || (text.contains("..") && LEADS_UP.matcher(text).matches())) {
      throw refusal(text);
    }
    boolean isUri = URI.matcher(text).matches();
    boolean isRelative = !isUri && !text.startsWith("/");
    String absolute =
        authority.equals("file:") && text.startsWith("//") ? text.replaceFirst("/+", "/") : text;
    Path path = new Path(isRelative ? base + "/" + text : isUri ? text : authority + absolute);
    if (isRelative && excludedPrefixes.isEmpty()) return path;
    String place = spelled(path.toString());
    if (startsWithAny(place, excludedPrefixes) || !(isRelative || startsWithAny(place, prefixes)))
      throw refusal(text);
    return path;
  }

  private static boolean startsWithAny(String place, List<String> prefixes) {
    for (int i = 0; i < prefixes.size(); i++) {
      if (place.startsWith(prefixes.get(i))) return true;
    }
    return false;
  }

  /** `text` is relative to the root and nothing else. */
  public Path resolveBelow(String text) {
    if (text.startsWith("/") || URI.matcher(text).matches()) throw refusal(text);
    return resolve(text);
  }

  /**
   * Rejects a local file that is located elsewhere after links are resolved, or has a name
   * elsewhere. A missing file is reported where it is opened.
   */
  public void ensureReal(Path file) {
    String scheme = file.toUri().getScheme();
    if (scheme != null && !scheme.equals("file")) return;
    java.nio.file.Path real;
    try {
      real = real(new File(file.toUri().getPath()).toPath());
    } catch (IOException missing) {
      return;
    }
    if (realRoots == null) {
      realExcluded = realPlaces(excluded, false);
      realRoots = realPlaces(allowed, true);
    }
    boolean isAllowed = isBelowAny(real, realRoots) && !isBelowAny(real, realExcluded);
    if (!isAllowed || (!acceptsHardLinks && hasOtherNames(real))) throw refusal(file.toString());
  }

  private static boolean isBelowAny(java.nio.file.Path real, java.nio.file.Path[] places) {
    for (int i = 0; i < places.length; i++) {
      if (real.startsWith(places[i])) return true;
    }
    return false;
  }

  /**
   * Whether a file has names outside of the table's folder. False on file systems that do not count
   * names.
   */
  private boolean hasOtherNames(java.nio.file.Path file) {
    try {
      Object links =
          java.nio.file.Files.getAttribute(file, "unix:nlink", new java.nio.file.LinkOption[0]);
      int others = ((Integer) links).intValue();
      if (others == 1) return false;
      java.nio.file.LinkOption[] none = new java.nio.file.LinkOption[0];
      String known =
          root
              + "\n"
              + java.nio.file.Files.getAttribute(file, "fileKey", none)
              + " "
              + others
              + " "
              + java.nio.file.Files.getAttribute(file, "unix:ctime", none);
      if (OWN_LINKS.contains(known)) return false;
      for (int i = 0; i < realRoots.length && others > 0; i++) {
        if (file.startsWith(realRoots[i])) others -= names(file, realRoots[i].toFile());
      }
      if (others <= 0 && OWN_LINKS.size() < OWN_LINKS_MAX) OWN_LINKS.add(known);
      return others > 0;
    } catch (IOException missing) {
      return false;
    } catch (UnsupportedOperationException notCounted) {
      return false;
    } catch (IllegalArgumentException notCounted) {
      return false;
    }
  }

  /** The number of names of a file below a folder, links to folders left out. */
  private static int names(java.nio.file.Path file, File folder) throws IOException {
    File[] found = folder.listFiles();
    int count = 0;
    for (int i = 0; found != null && i < found.length; i++) {
      java.nio.file.Path each = found[i].toPath();
      if (java.nio.file.Files.isSymbolicLink(each)) continue;
      if (found[i].isDirectory()) count += names(file, found[i]);
      else if (java.nio.file.Files.isSameFile(each, file)) count++;
    }
    return count;
  }

  /**
   * Refuses a file to be written whose folder, or the part of it that exists, is not just below the
   * root.
   */
  public void ensureOwn(Path file) {
    String scheme = file.toUri().getScheme();
    if (scheme != null && !scheme.equals("file")) return;
    java.nio.file.Path own = local(base);
    java.nio.file.Path folder = new File(file.toUri().getPath()).toPath().getParent();
    for (;
        folder != null && folder.startsWith(own) && !folder.equals(own);
        folder = folder.getParent()) {
      if (java.nio.file.Files.isSymbolicLink(folder)) throw refusal(file.toString());
    }
  }

  private java.nio.file.Path[] realPlaces(String[] places, boolean withRoot) {
    List<java.nio.file.Path> found = new ArrayList<>();
    for (int i = withRoot ? -1 : 0; i < places.length; i++) {
      java.nio.file.Path place = local(i < 0 ? base : withScheme(places[i]));
      try {
        if (place != null && !found.contains(real(place))) found.add(real(place));
      } catch (IOException missing) {
        continue;
      }
    }
    return found.toArray(new java.nio.file.Path[0]);
  }

  /** The place on this machine; null where it is elsewhere. */
  private static java.nio.file.Path local(String place) {
    Path path = new Path(place);
    return "file".equals(path.toUri().getScheme())
        ? new File(path.toUri().getPath()).toPath()
        : null;
  }

  private static java.nio.file.Path real(java.nio.file.Path place) throws IOException {
    return place.toRealPath(new java.nio.file.LinkOption[0]);
  }

  private RejectionException refusal(String text) {
    return new RejectionException("log path", root + "\n" + text);
  }

  private static String withScheme(String place) {
    String trimmed = place;
    while (trimmed.length() > 1 && trimmed.endsWith("/"))
      trimmed = trimmed.substring(0, trimmed.length() - 1);
    return URI.matcher(trimmed).matches() ? trimmed : "file:" + trimmed;
  }

  /** A URI as Hadoop prints it, with one name for the schemes of one store. */
  private static String spelled(String uri) {
    String text = new Path(uri).toString();
    int colon = text.indexOf(':');
    String scheme = text.substring(0, colon).toLowerCase(Locale.ROOT);
    if (scheme.equals("s3a") || scheme.equals("s3n")) scheme = "s3";
    if (scheme.equals("gcs")) scheme = "gs";
    if (scheme.equals("abfs") || scheme.equals("abfss")) scheme = "az";
    return scheme + text.substring(colon);
  }
}
