package deltagateway.analysis;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text of a JSON value, with PostgreSQL's rules: what is a value, where its parts are, and the
 * form in which `jsonb` has it.
 *
 * <p>Parts of a `json` are pieces of its text as it was written, so nothing is parsed into objects.
 */
final class JsonText {
  /** Start and end (exclusive) of a part of the text. */
  record Span(int start, int end) {}

  /** The text is no JSON value. */
  static final class Malformed extends RuntimeException {
    private static final long serialVersionUID = 1;

    Malformed(String reason) {
      super(reason, null, false, false);
    }
  }

  // Texts of more levels would exhaust the stack of the thread.
  private static final int DEPTH_MAX = 1000;
  // `numeric` has more digits; a small text would become a large one.
  private static final int EXPONENT_MAX = 1000;
  private static final Pattern NUMBER =
      Pattern.compile("-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?+(?:[eE]([+-]?[0-9]++))?+");
  private static final Pattern WORD = Pattern.compile("true|false|null");
  private static final Pattern INDEX = Pattern.compile("\\s*([+-]?[0-9]{1,10})");
  private static final Comparator<byte[]> KEYS =
      Comparator.<byte[]>comparingInt(key -> key.length).thenComparing(Arrays::compareUnsigned);

  private final String text;
  private int at;

  JsonText(String text) {
    this.text = text;
  }

  /** Returns the place of the whole value. Throws {@link Malformed} if the text is none. */
  Span whole() {
    at = 0;
    skipSpaces();
    int start = at;
    skipValue(0);
    int end = at;
    skipSpaces();
    if (at < text.length()) throw new Malformed("text follows the value");
    return new Span(start, end);
  }

  /** Returns the last value of a key; null if the value is no object or has no such key. */
  Span field(Span value, String key) {
    if (text.charAt(value.start) != '{') return null;
    Span found = null;
    at = value.start;
    for (boolean more = opened('}'); more; more = continued('}')) {
      String name = readString();
      skipColon();
      Span member = skippedValue();
      if (name.equals(key)) found = member;
    }
    return found;
  }

  /** Returns an element, a negative index from the end; null if the value is no such array. */
  Span element(Span value, int index) {
    if (text.charAt(value.start) != '[') return null;
    List<Span> elements = new ArrayList<>();
    at = value.start;
    for (boolean more = opened(']'); more; more = continued(']')) elements.add(skippedValue());
    int place = index < 0 ? elements.size() + index : index;
    return place < 0 || place >= elements.size() ? null : elements.get(place);
  }

  /** Returns what a step of a path leads to: a field of an object, or an element of an array. */
  Span step(Span value, String step) {
    if (text.charAt(value.start) != '[') return field(value, step);
    Matcher index = INDEX.matcher(step);
    if (!index.matches()) return null;
    long number = Long.parseLong(index.group(1));
    return number == (int) number ? element(value, (int) number) : null;
  }

  String written(Span value) {
    return text.substring(value.start, value.end);
  }

  /** Returns a string's content, null for `null`, and the text of any other value. */
  String content(Span value) {
    at = value.start;
    if (text.charAt(at) == '"') return readString();
    return text.startsWith("null", at) ? null : written(value);
  }

  /** Returns the value as `jsonb` has it: distinct sorted keys, plain numbers, fixed spaces. */
  String normalized(Span value) {
    StringBuilder made = new StringBuilder();
    at = value.start;
    normalize(made);
    return made.toString();
  }

  private void normalize(StringBuilder made) {
    char first = text.charAt(at);
    switch (first) {
      case '{' -> normalizeObject(made);
      case '[' -> {
        String separator = "[";
        for (boolean more = opened(']'); more; more = continued(']')) {
          made.append(separator);
          normalize(made);
          separator = ", ";
        }
        made.append(separator.equals("[") ? "[]" : "]");
      }
      case '"' -> quote(readString(), made);
      case 't', 'f', 'n' -> {
        int start = at;
        match(WORD);
        made.append(text, start, at);
      }
      default -> {
        int start = at;
        Matcher found = match(NUMBER);
        String exponent = found.group(1);
        // A long exponent may not be a number of Java's.
        if (exponent != null && (exponent.length() > 5 || tooLarge(Integer.parseInt(exponent))))
          throw new Malformed("a number is out of range");
        made.append(new BigDecimal(text.substring(start, at)).toPlainString());
      }
    }
  }

  private static boolean tooLarge(int exponent) {
    return Math.abs(exponent) > EXPONENT_MAX;
  }

  private void normalizeObject(StringBuilder made) {
    Map<byte[], String> members = new TreeMap<>(KEYS);
    for (boolean more = opened('}'); more; more = continued('}')) {
      StringBuilder key = new StringBuilder();
      StringBuilder member = new StringBuilder();
      String name = readString();
      quote(name, key);
      skipColon();
      normalize(member);
      members.put(
          name.getBytes(StandardCharsets.UTF_8), key.append(": ").append(member).toString());
    }
    made.append('{').append(String.join(", ", members.values())).append('}');
  }

  private static void quote(String content, StringBuilder made) {
    made.append('"');
    for (int place = 0; place < content.length(); place++) {
      char next = content.charAt(place);
      switch (next) {
        case '"' -> made.append("\\\"");
        case '\\' -> made.append("\\\\");
        case '\b' -> made.append("\\b");
        case '\f' -> made.append("\\f");
        case '\n' -> made.append("\\n");
        case '\r' -> made.append("\\r");
        case '\t' -> made.append("\\t");
        default -> made.append(next < ' ' ? String.format("\\u%04x", (int) next) : next);
      }
    }
    made.append('"');
  }

  // ------------------------------------------------------------------------------------- scanning

  private Span skippedValue() {
    int start = at;
    skipValue(0);
    return new Span(start, at);
  }

  private void skipValue(int depth) {
    if (depth > DEPTH_MAX) throw new Malformed("it has more than " + DEPTH_MAX + " levels");
    switch (peek()) {
      case '{' -> {
        for (boolean more = opened('}'); more; more = continued('}')) {
          skipString();
          skipColon();
          skipValue(depth + 1);
        }
      }
      case '[' -> {
        for (boolean more = opened(']'); more; more = continued(']')) skipValue(depth + 1);
      }
      case '"' -> skipString();
      case 't', 'f', 'n' -> match(WORD);
      default -> match(NUMBER);
    }
  }

  private Matcher match(Pattern pattern) {
    Matcher found = pattern.matcher(text).region(at, text.length());
    if (!found.lookingAt()) throw new Malformed("a value is expected");
    at = found.end();
    if (at < text.length() && Character.isLetterOrDigit(text.charAt(at)))
      throw new Malformed("a value is expected");
    return found;
  }

  /** Enters an object or array; returns false behind its end if it is empty. */
  private boolean opened(char end) {
    at++;
    skipSpaces();
    if (peek() != end) return true;
    at++;
    return false;
  }

  /** Moves to the next member; returns false behind the end of the object or array. */
  private boolean continued(char end) {
    skipSpaces();
    char next = peek();
    if (next != end && next != ',') throw new Malformed("a comma is expected");
    at++;
    skipSpaces();
    return next == ',';
  }

  private void skipColon() {
    skipSpaces();
    if (peek() != ':') throw new Malformed("a colon is expected");
    at++;
    skipSpaces();
  }

  private void skipSpaces() {
    while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
  }

  private char peek() {
    if (at >= text.length()) throw new Malformed("the text ends too early");
    return text.charAt(at);
  }

  private void skipString() {
    if (peek() != '"') throw new Malformed("a string is expected");
    at++;
    while (true) {
      char next = peek();
      at++;
      if (next == '"') return;
      if (next < ' ') throw new Malformed("a control character is not escaped");
      if (next == '\\') skipEscape();
    }
  }

  private void skipEscape() {
    char kind = peek();
    at++;
    if ("\"\\/bfnrtu".indexOf(kind) < 0) throw new Malformed("an escape is unknown");
    if (kind != 'u') return;
    for (int end = at + 4; at < end; at++)
      if (Character.digit(peek(), 16) < 0 || peek() > 'f')
        throw new Malformed("an escape has no four digits");
  }

  /** Returns the content of the string here, which is well-formed apart from its code points. */
  private String readString() {
    int start = at + 1;
    skipString();
    String raw = text.substring(start, at - 1);
    if (raw.indexOf('\\') < 0) return raw;
    StringBuilder made = new StringBuilder(raw.length());
    for (int place = 0; place < raw.length(); place++) {
      char next = raw.charAt(place);
      if (next != '\\') {
        made.append(next);
        continue;
      }
      char kind = raw.charAt(++place);
      if (kind == 'u') {
        made.append(character(raw.substring(place + 1, place + 5)));
        place += 4;
      } else {
        int escape = "bfnrt".indexOf(kind);
        made.append(escape < 0 ? kind : "\b\f\n\r\t".charAt(escape));
      }
    }
    String content = made.toString();
    if (!StandardCharsets.UTF_8.newEncoder().canEncode(content))
      throw new Malformed("an escape is half of a character");
    return content;
  }

  private static char character(String digits) {
    int code = Integer.parseInt(digits, 16);
    if (code == 0) throw new Malformed("a text cannot have the character \\u0000");
    return (char) code;
  }
}
