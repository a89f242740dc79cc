package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.io.Serializable;
import java.util.Collections;
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
 * The columns of a table and, of the same shape, those of its files: other names, field ids in the
 * metadata, and a readable type for columns that have no values. Translates what Spark asks of the
 * former into the latter.
 */
public final class PhysicalColumns implements Serializable {
  private static final String PUSHED_NAME = "gateway.pushed.name";
  private static final String UNREAD = "gateway.unread";

  /** What Spark does not quote; its parser takes longer than all else that is done for a filter. */
  private static final Pattern SIMPLE_NAME = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

  private final StructType logical;
  private final StructType physical;

  public PhysicalColumns(StructType logical, StructType physical) {
    this.logical = logical;
    this.physical = physical;
  }

  /**
   * Any part of the table's schema as Spark prunes it; fields that are none of the table's stay as
   * they are.
   */
  public StructType of(StructType required) {
    return struct(required, logical, physical);
  }

  /**
   * As {@link #of(StructType)}, of what is read of the files of `relation`. Refuses columns that
   * they do not let read.
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
    if (required instanceof StructType && logical instanceof StructType) {
      return struct((StructType) required, (StructType) logical, (StructType) physical);
    }
    if (required instanceof ArrayType && logical instanceof ArrayType) {
      ArrayType array = (ArrayType) required;
      DataType element =
          type(
              array.elementType(),
              ((ArrayType) logical).elementType(),
              ((ArrayType) physical).elementType());
      return new ArrayType(element, array.containsNull());
    }
    if (required instanceof MapType && logical instanceof MapType) {
      MapType map = (MapType) required;
      MapType from = (MapType) logical;
      MapType to = (MapType) physical;
      return new MapType(
          type(map.keyType(), from.keyType(), to.keyType()),
          type(map.valueType(), from.valueType(), to.valueType()),
          map.valueContainsNull());
    }
    return required.equals(logical)
        ? physical
        : required; // Spark asks for parts of a variant as a struct of its own
  }

  private static int indexOf(StructType schema, String name) {
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].name().equals(name)) return i;
    }
    return -1;
  }

  /**
   * A pushed filter on the columns of the files, or null where it is on a constant, or not known
   * how to say. `byId`: on columns that say by which name.
   */
  public Filter of(Filter filter, StructType constants, boolean byId) {
    return of(filter, constants, byId, false);
  }

  private Filter of(Filter filter, StructType constants, boolean byId, boolean negated) {
    if (filter instanceof And) return both((And) filter, constants, byId, negated);
    if (filter instanceof Or) {
      Filter left = of(((Or) filter).left(), constants, byId, negated);
      Filter right = of(((Or) filter).right(), constants, byId, negated);
      return left == null || right == null ? null : new Or(left, right);
    }
    if (filter instanceof Not) {
      Filter child = of(((Not) filter).child(), constants, byId, true);
      return child == null ? null : new Not(child);
    }
    return leaf(filter, constants, byId, negated);
  }

  /** Both sides or none: below a NOT a side alone would say more than the filter does. */
  private Filter both(And filter, StructType constants, boolean byId, boolean negated) {
    Filter left = of(filter.left(), constants, byId, negated);
    Filter right = of(filter.right(), constants, byId, negated);
    return left == null || right == null ? null : new And(left, right);
  }

  /**
   * Parquet knows neither that NaN is larger than all and equals itself nor that -0 equals 0, and
   * writers leave NaN out of the extremes: so of a column of reals only what neither of them
   * fulfils is told.
   */
  private static boolean isOfPlainReals(Filter filter) {
    if (filter instanceof IsNull || filter instanceof IsNotNull) return true;
    if (filter instanceof EqualTo) return isPlain(((EqualTo) filter).value());
    if (filter instanceof EqualNullSafe) return isPlain(((EqualNullSafe) filter).value());
    if (filter instanceof LessThan) return isPlain(((LessThan) filter).value());
    if (filter instanceof LessThanOrEqual) return isPlain(((LessThanOrEqual) filter).value());
    if (!(filter instanceof In)) return false;
    Object[] values = ((In) filter).values();
    for (int i = 0; i < values.length; i++) if (!isPlain(values[i])) return false;
    return true;
  }

  private static boolean isPlain(Object value) {
    if (value == null) return true;
    double real = ((Number) value).doubleValue();
    return real != 0 && !Double.isNaN(real);
  }

  private boolean isReal(String name) {
    List<String> parts = parts(name);
    DataType found = logical;
    for (int i = 0; i < parts.size(); i++) {
      int at = found instanceof StructType ? indexOf((StructType) found, parts.get(i)) : -1;
      if (at < 0) return false;
      found = ((StructType) found).fields()[at].dataType();
    }
    return found instanceof FloatType || found instanceof DoubleType;
  }

  private Filter leaf(Filter filter, StructType constants, boolean byId, boolean negated) {
    String[] references = filter.references();
    if (references.length == 1 && isReal(references[0])) {
      boolean asksForNulls = filter instanceof IsNull || filter instanceof IsNotNull;
      if (negated ? !asksForNulls : !isOfPlainReals(filter)) return null;
    }
    String name = references.length == 1 ? translated(references[0], constants, byId) : null;
    if (name == null) return null;
    if (filter instanceof EqualTo) return new EqualTo(name, ((EqualTo) filter).value());
    if (filter instanceof EqualNullSafe)
      return new EqualNullSafe(name, ((EqualNullSafe) filter).value());
    if (filter instanceof GreaterThan) return new GreaterThan(name, ((GreaterThan) filter).value());
    if (filter instanceof GreaterThanOrEqual) {
      return new GreaterThanOrEqual(name, ((GreaterThanOrEqual) filter).value());
    }
    if (filter instanceof LessThan) return new LessThan(name, ((LessThan) filter).value());
    if (filter instanceof LessThanOrEqual)
      return new LessThanOrEqual(name, ((LessThanOrEqual) filter).value());
    if (filter instanceof In) return new In(name, ((In) filter).values());
    if (filter instanceof IsNull) return new IsNull(name);
    if (filter instanceof IsNotNull) return new IsNotNull(name);
    if (filter instanceof StringStartsWith)
      return new StringStartsWith(name, ((StringStartsWith) filter).value());
    if (filter instanceof StringEndsWith)
      return new StringEndsWith(name, ((StringEndsWith) filter).value());
    if (filter instanceof StringContains)
      return new StringContains(name, ((StringContains) filter).value());
    return null;
  }

  private static List<String> parts(String name) {
    return SIMPLE_NAME.matcher(name).matches()
        ? Collections.singletonList(name)
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
      int at = from instanceof StructType ? indexOf((StructType) from, parts.get(i)) : -1;
      if (at < 0) return null;
      found[i] = ((StructType) to).fields()[at].name();
      from = ((StructType) from).fields()[at].dataType();
      to = ((StructType) to).fields()[at].dataType();
    }
    return QuotingUtils$.MODULE$.quoted(found);
  }

  private String pushedName(List<String> parts) {
    int at = parts.size() == 1 ? indexOf(logical, parts.get(0)) : -1;
    if (at < 0 || !physical.fields()[at].metadata().contains(PUSHED_NAME)) return null;
    return QuotingUtils$.MODULE$.quoted(
        new String[] {physical.fields()[at].metadata().getString(PUSHED_NAME)});
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof PhysicalColumns)) return false;
    PhysicalColumns that = (PhysicalColumns) other;
    return logical.equals(that.logical) && physical.equals(that.physical);
  }

  public int hashCode() {
    return 31 * logical.hashCode() + physical.hashCode();
  }
}
