package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.util.QuotingUtils$;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Translates schemas and filters from logical to physical columns. Physical columns have the same
 * shape as the table's, other names, field ids in the metadata, and a readable type for columns
 * without values.
 */
public record PhysicalColumns(StructType logical, StructType physical) implements Serializable {
  private static final String PUSHED_NAME = "gateway.pushed.name";
  private static final String UNREAD = "gateway.unread";

  /** Names that Spark does not quote. Its parser takes longer than the rest of the translation. */
  private static final Pattern SIMPLE_NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

  /**
   * Returns the physical form of a pruned schema of the table. Fields that are not the table's stay
   * as they are.
   */
  public StructType of(StructType required) {
    return struct(required, logical, physical);
  }

  /**
   * Returns the physical columns that are read from the files of `relation`. Rejects columns that
   * must not be read.
   */
  public StructType read(StructType required, String relation) {
    StructType found = of(required);
    for (StructField field : found.fields()) {
      if (field.metadata().contains(UNREAD)) {
        throw new RejectionException(
            "column of files", relation + "\n" + field.metadata().getString(UNREAD));
      }
    }
    return found;
  }

  private static StructType struct(StructType required, StructType logical, StructType physical) {
    StructField[] fields = required.fields();
    StructField[] translated = new StructField[fields.length];
    for (int i = 0; i < fields.length; i++) {
      int at = indexOf(logical, fields[i].name());
      if (at < 0) translated[i] = fields[i];
      else {
        StructField target = physical.fields()[at];
        DataType type =
            type(fields[i].dataType(), logical.fields()[at].dataType(), target.dataType());
        translated[i] =
            new StructField(target.name(), type, fields[i].nullable(), target.metadata());
      }
    }
    return new StructType(translated);
  }

  private static DataType type(DataType required, DataType logical, DataType physical) {
    if (required instanceof StructType struct && logical instanceof StructType from)
      return struct(struct, from, (StructType) physical);
    if (required instanceof ArrayType array && logical instanceof ArrayType from) {
      DataType element =
          type(array.elementType(), from.elementType(), ((ArrayType) physical).elementType());
      return new ArrayType(element, array.containsNull());
    }
    if (required instanceof MapType map && logical instanceof MapType from) {
      MapType to = (MapType) physical;
      return new MapType(
          type(map.keyType(), from.keyType(), to.keyType()),
          type(map.valueType(), from.valueType(), to.valueType()),
          map.valueContainsNull());
    }
    // Spark requires parts of a variant as a struct, which is not the logical type.
    return required.equals(logical) ? physical : required;
  }

  private static int indexOf(StructType schema, String name) {
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].name().equals(name)) return i;
    }
    return -1;
  }

  /**
   * Returns a pushed filter on physical columns, or null if it is on a constant or has no
   * translation. With `byId`, only columns with a unique name in all files are translated.
   */
  public Filter of(Filter filter, StructType constants, boolean byId) {
    return of(filter, constants, byId, false);
  }

  private Filter of(Filter filter, StructType constants, boolean byId, boolean negated) {
    if (filter instanceof And and) {
      // Both sides or none: under a NOT, one side alone would filter more rows.
      Filter left = of(and.left(), constants, byId, negated);
      Filter right = of(and.right(), constants, byId, negated);
      return left == null || right == null ? null : new And(left, right);
    }
    if (filter instanceof Or or) {
      Filter left = of(or.left(), constants, byId, negated);
      Filter right = of(or.right(), constants, byId, negated);
      return left == null || right == null ? null : new Or(left, right);
    }
    if (filter instanceof Not not) {
      Filter child = of(not.child(), constants, byId, true);
      return child == null ? null : new Not(child);
    }
    return leaf(filter, constants, byId, negated);
  }

  /**
   * Returns whether a filter on floating-point values is true for neither NaN nor zero. In Parquet
   * NaN is not larger than all values and does not equal itself, -0 does not equal 0, and writers
   * leave NaN out of minimum and maximum values.
   */
  private static boolean excludesNanAndZero(Filter filter) {
    if (filter instanceof IsNull || filter instanceof IsNotNull) return true;
    if (filter instanceof EqualTo equal) return isOrdinary(equal.value());
    if (filter instanceof EqualNullSafe equal) return isOrdinary(equal.value());
    if (filter instanceof LessThan less) return isOrdinary(less.value());
    if (filter instanceof LessThanOrEqual less) return isOrdinary(less.value());
    return filter instanceof In in
        && Arrays.stream(in.values()).allMatch(PhysicalColumns::isOrdinary);
  }

  private static boolean isOrdinary(Object value) {
    if (value == null) return true;
    double number = ((Number) value).doubleValue();
    return number != 0 && !Double.isNaN(number);
  }

  private boolean isFloatingPoint(String name) {
    DataType found = logical;
    for (String part : parts(name)) {
      int at = found instanceof StructType struct ? indexOf(struct, part) : -1;
      if (at < 0) return false;
      found = ((StructType) found).fields()[at].dataType();
    }
    return found instanceof FloatType || found instanceof DoubleType;
  }

  private Filter leaf(Filter filter, StructType constants, boolean byId, boolean negated) {
    String[] references = filter.references();
    if (references.length != 1) return null;
    if (isFloatingPoint(references[0])) {
      boolean isOnNulls = filter instanceof IsNull || filter instanceof IsNotNull;
      if (negated ? !isOnNulls : !excludesNanAndZero(filter)) return null;
    }
    String name = translated(references[0], constants, byId);
    if (name == null) return null;
    if (filter instanceof EqualTo equal) return new EqualTo(name, equal.value());
    if (filter instanceof EqualNullSafe equal) return new EqualNullSafe(name, equal.value());
    if (filter instanceof GreaterThan more) return new GreaterThan(name, more.value());
    if (filter instanceof GreaterThanOrEqual more)
      return new GreaterThanOrEqual(name, more.value());
    if (filter instanceof LessThan less) return new LessThan(name, less.value());
    if (filter instanceof LessThanOrEqual less) return new LessThanOrEqual(name, less.value());
    if (filter instanceof In in) return new In(name, in.values());
    if (filter instanceof IsNull) return new IsNull(name);
    if (filter instanceof IsNotNull) return new IsNotNull(name);
    if (filter instanceof StringStartsWith text) return new StringStartsWith(name, text.value());
    if (filter instanceof StringEndsWith text) return new StringEndsWith(name, text.value());
    if (filter instanceof StringContains text) return new StringContains(name, text.value());
    return null;
  }

  private static List<String> parts(String name) {
    return SIMPLE_NAME.matcher(name).matches()
        ? List.of(name)
        : ScalaConversions.list(CatalystSqlParser$.MODULE$.parseMultipartIdentifier(name));
  }

  private String translated(String name, StructType constants, boolean byId) {
    List<String> parts = parts(name);
    if (indexOf(constants, parts.get(0)) >= 0) return null;
    if (byId) return pushedName(parts);
    String[] found = new String[parts.size()];
    DataType from = logical;
    DataType to = physical;
    for (int i = 0; i < found.length; i++) {
      int at = from instanceof StructType struct ? indexOf(struct, parts.get(i)) : -1;
      if (at < 0) return null;
      StructField target = ((StructType) to).fields()[at];
      found[i] = target.name();
      from = ((StructType) from).fields()[at].dataType();
      to = target.dataType();
    }
    return QuotingUtils$.MODULE$.quoted(found);
  }

  private String pushedName(List<String> parts) {
    int at = parts.size() == 1 ? indexOf(logical, parts.get(0)) : -1;
    if (at < 0 || !physical.fields()[at].metadata().contains(PUSHED_NAME)) return null;
    return QuotingUtils$.MODULE$.quoted(
        new String[] {physical.fields()[at].metadata().getString(PUSHED_NAME)});
  }
}
