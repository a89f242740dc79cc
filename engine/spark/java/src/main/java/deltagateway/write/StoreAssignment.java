package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Casts values that are assigned to columns as Delta does on Spark. Under the policy ANSI, each
 * value is cast by the rules of an ANSI cast: a string becomes a date or a number, or an error.
 * Spark's own assignment rejects the whole statement. Under LEGACY, values are cast by Hive's
 * rules: a string that is no number becomes NULL. STRICT is Spark's.
 *
 * <p>Only the types of leaves change here. {@link TableOutputResolver} matches columns and fields
 * afterwards, with equal types.
 */
public final class StoreAssignment {
  /** Object type in the query contexts of casts; the object's name is the column's. */
  public static final String OBJECT_TYPE = "STORE ASSIGNMENT";

  private final SQLConf conf;
  private final boolean isAnsi;
  private final boolean isLegacy;

  /**
   * With `arePartitions`, the values are those of a PARTITION clause, which STRICT takes as ANSI
   * does, since partitions are named by strings.
   */
  StoreAssignment(SQLConf conf, boolean arePartitions) {
    this.conf = conf;
    String policy = conf.storeAssignmentPolicy().toString();
    this.isLegacy = policy.equals("LEGACY");
    this.isAnsi = policy.equals("ANSI") || arePartitions && !isLegacy;
  }

  /**
   * Returns `query` with casts of the columns whose types differ from the `expected` ones, by
   * position or by name.
   */
  LogicalPlan cast(LogicalPlan query, List<Attribute> expected, boolean byName) {
    if (!isAnsi && !isLegacy) return query;
    List<Attribute> output = ScalaConversions.list(query.output());
    List<NamedExpression> columns = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) {
      Attribute target = target(expected, output.get(i), i, byName);
      columns.add(target == null ? output.get(i) : cast(output.get(i), target, byName));
    }
    return columns.equals(output) ? query : new Project(ScalaConversions.seq(columns), query);
  }

  private Attribute target(
      List<Attribute> expected, Attribute column, int position, boolean byName) {
    if (!byName) return position < expected.size() ? expected.get(position) : null;
    return expected.stream()
        .filter(each -> isSame(each.name(), column.name()))
        .findFirst()
        .orElse(null);
  }

  private boolean isSame(String one, String other) {
    return (Boolean) conf.resolver().apply(one, other);
  }

  private NamedExpression cast(Attribute column, Attribute target, boolean byName) {
    DataType from = column.dataType();
    DataType type = assignable(from, target.dataType(), byName);
    boolean canCast = isLegacy ? Cast.canCast(from, type) : Cast.canAnsiCast(from, type);
    if (type.equals(from) || !canCast) return column;
    return new Alias(
        cast(column, type, target.name()),
        column.name(),
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.emptySeq(),
        ScalaConversions.none(),
        ScalaConversions.emptySeq());
  }

  /**
   * Returns `from` with the types of `to` at the leaves that Spark's own assignment would reject or
   * cast more strictly.
   */
  private DataType assignable(DataType from, DataType to, boolean byName) {
    if (from instanceof StructType struct && to instanceof StructType target)
      return assignable(struct, target, byName);
    if (from instanceof ArrayType array && to instanceof ArrayType target) {
      DataType element = assignable(array.elementType(), target.elementType(), byName);
      return new ArrayType(
          element, array.containsNull() || mayBecomeNull(array.elementType(), element));
    }
    if (from instanceof MapType map && to instanceof MapType target) {
      DataType key = assignable(map.keyType(), target.keyType(), byName);
      DataType value = assignable(map.valueType(), target.valueType(), byName);
      return new MapType(
          key, value, map.valueContainsNull() || mayBecomeNull(map.valueType(), value));
    }
    if (isNested(from) || isNested(to)) return from;
    if (isLegacy) return Cast.canCast(from, to) ? to : from;
    return !Cast.canANSIStoreAssign(from, to) && Cast.canAnsiCast(from, to) ? to : from;
  }

  private StructType assignable(StructType from, StructType to, boolean byName) {
    StructField[] fields = from.fields().clone();
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      StructField target =
          byName ? find(to.fields(), field.name()) : i < to.length() ? to.fields()[i] : null;
      if (target == null) continue;
      DataType type = assignable(field.dataType(), target.dataType(), byName);
      boolean nullable = field.nullable() || mayBecomeNull(field.dataType(), type);
      fields[i] = new StructField(field.name(), type, nullable, field.metadata());
    }
    return new StructType(fields);
  }

  /** Returns whether a cast turns some values into NULL, which its type has to allow. */
  private boolean mayBecomeNull(DataType from, DataType to) {
    return isLegacy && !from.equals(to);
  }

  private StructField find(StructField[] fields, String name) {
    return Arrays.stream(fields)
        .filter(field -> isSame(field.name(), name))
        .findFirst()
        .orElse(null);
  }

  private static boolean isNested(DataType type) {
    return type instanceof StructType || type instanceof ArrayType || type instanceof MapType;
  }

  private Expression cast(Attribute column, DataType type, String name) {
    Option<String> zone = Option.apply(conf.sessionLocalTimeZone());
    if (isLegacy) return new Cast(column, type, zone, EvalMode$.MODULE$.LEGACY());
    Origin before = CurrentOrigin$.MODULE$.get();
    CurrentOrigin$.MODULE$.set(origin(name));
    try {
      Cast cast = new Cast(column, type, zone, EvalMode$.MODULE$.ANSI());
      // Errors of strings have the query context, and with it the column; those of numbers and
      // times have no context.
      if (isNested(type) || column.dataType() instanceof StringType) return cast;
      return TableOutputResolver$.MODULE$.checkCastOverflowInTableInsert(cast, name);
    } finally {
      CurrentOrigin$.MODULE$.set(before);
    }
  }

  /** Returns the origin of a cast, whose text is the name of the column. */
  private static Origin origin(String name) {
    return new Origin(
        Option.apply(1),
        Option.apply(0),
        Option.apply(0),
        Option.apply(name.length() - 1),
        Option.apply(name),
        Option.apply(OBJECT_TYPE),
        Option.apply(name),
        ScalaConversions.none(),
        ScalaConversions.none(),
        ScalaConversions.none());
  }
}
