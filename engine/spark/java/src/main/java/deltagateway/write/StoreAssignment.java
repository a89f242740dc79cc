package deltagateway.write;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
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

/**
 * Store assignment as a Delta table has it on Spark. Under the policy ANSI each value is cast by
 * the rules of an ANSI cast, so a text becomes a date or a number, or an error where it is none;
 * Spark's own assignment refuses the whole statement. Under LEGACY it is cast by Hive's rules: a
 * text that is no number becomes NULL. STRICT stays Spark's.
 *
 * <p>Only the types of leaves are changed here; columns and fields are matched by {@link
 * TableOutputResolver} afterwards, which finds the types equal.
 */
public final class StoreAssignment {
  /** The type of the object that the contexts of the casts name; the name is the column's. */
  public static final String OBJECT_TYPE = "STORE ASSIGNMENT";

  private final SQLConf conf;
  private final boolean isAnsi;
  private final boolean isLegacy;

  /**
   * `areTexts`: values of a PARTITION clause, which STRICT takes as ANSI does, since partitions are
   * named by texts.
   */
  StoreAssignment(SQLConf conf, boolean areTexts) {
    this.conf = conf;
    String policy = conf.storeAssignmentPolicy().toString();
    this.isLegacy = policy.equals("LEGACY");
    this.isAnsi = policy.equals("ANSI") || areTexts && !isLegacy;
  }

  /**
   * `query` with the columns that go into `expected` (attributes, by position or by name) cast
   * where they differ.
   */
  LogicalPlan cast(LogicalPlan query, List<Attribute> expected, boolean byName) {
    if (!isAnsi && !isLegacy) return query;
    List<Attribute> output = ScalaConversions.list(query.output());
    ArrayList named = new ArrayList<>();
    boolean differs = false;
    for (int i = 0; i < output.size(); i++) {
      Attribute column = output.get(i);
      Attribute target =
          byName ? find(expected, column.name()) : i < expected.size() ? expected.get(i) : null;
      DataType type =
          target == null
              ? column.dataType()
              : assignable(column.dataType(), target.dataType(), byName);
      boolean isCast =
          isLegacy
              ? Cast.canCast(column.dataType(), type)
              : Cast.canAnsiCast(column.dataType(), type);
      if (type.equals(column.dataType()) || !isCast) {
        named.add(column);
      } else {
        named.add(alias(cast(column, type, target.name()), column));
        differs = true;
      }
    }
    return differs ? new Project(ScalaConversions.seq(named), query) : query;
  }

  private Attribute find(List<Attribute> attributes, String name) {
    for (int i = 0; i < attributes.size(); i++) {
      if (isSame(attributes.get(i).name(), name)) return attributes.get(i);
    }
    return null;
  }

  private boolean isSame(String one, String other) {
    return ((Boolean) conf.resolver().apply(one, other)).booleanValue();
  }

  /**
   * `from` with the types of `to` at the leaves that Spark's own assignment would refuse, or make
   * stricter.
   */
  private DataType assignable(DataType from, DataType to, boolean byName) {
    if (from instanceof StructType && to instanceof StructType) {
      return assignable((StructType) from, (StructType) to, byName);
    }
    if (from instanceof ArrayType && to instanceof ArrayType) {
      DataType element =
          assignable(((ArrayType) from).elementType(), ((ArrayType) to).elementType(), byName);
      boolean nullable =
          ((ArrayType) from).containsNull()
              || mayBecomeNull(((ArrayType) from).elementType(), element);
      return new ArrayType(element, nullable);
    }
    if (from instanceof MapType && to instanceof MapType) {
      MapType map = (MapType) from;
      DataType key = assignable(map.keyType(), ((MapType) to).keyType(), byName);
      DataType value = assignable(map.valueType(), ((MapType) to).valueType(), byName);
      return new MapType(
          key, value, map.valueContainsNull() || mayBecomeNull(map.valueType(), value));
    }
    if (isNested(from) || isNested(to)) return from;
    if (isLegacy) return Cast.canCast(from, to) ? to : from;
    return !Cast.canANSIStoreAssign(from, to) && Cast.canAnsiCast(from, to) ? to : from;
  }

  private StructType assignable(StructType from, StructType to, boolean byName) {
    StructField[] fields = from.fields();
    StructField[] targets = to.fields();
    StructField[] found = new StructField[fields.length];
    for (int i = 0; i < fields.length; i++) {
      StructField target =
          byName ? find(targets, fields[i].name()) : i < targets.length ? targets[i] : null;
      DataType type =
          target == null
              ? fields[i].dataType()
              : assignable(fields[i].dataType(), target.dataType(), byName);
      boolean nullable = fields[i].nullable() || mayBecomeNull(fields[i].dataType(), type);
      found[i] = new StructField(fields[i].name(), type, nullable, fields[i].metadata());
    }
    return new StructType(found);
  }

  /** Whether a cast makes NULL of some values, which a type that it goes to has to allow. */
  private boolean mayBecomeNull(DataType from, DataType to) {
    return isLegacy && !from.equals(to);
  }

  private StructField find(StructField[] fields, String name) {
    for (int i = 0; i < fields.length; i++) {
      if (isSame(fields[i].name(), name)) return fields[i];
    }
    return null;
  }

  private static boolean isNested(DataType type) {
    return type instanceof StructType || type instanceof ArrayType || type instanceof MapType;
  }

  private Expression cast(Attribute column, DataType type, String name) {
    scala.Option<String> zone = scala.Option.apply(conf.sessionLocalTimeZone());
    if (isLegacy) return new Cast(column, type, zone, EvalMode$.MODULE$.LEGACY());
    Origin before = CurrentOrigin$.MODULE$.get();
    CurrentOrigin$.MODULE$.set(origin(name));
    try {
      Cast cast = new Cast(column, type, zone, EvalMode$.MODULE$.ANSI());
      // The errors of a text have the context, and with it the column; those of numbers and times
      // have no context.
      if (isNested(type) || column.dataType() instanceof StringType) return cast;
      return TableOutputResolver$.MODULE$.checkCastOverflowInTableInsert(cast, name);
    } finally {
      CurrentOrigin$.MODULE$.set(before);
    }
  }

  /** A context of the errors of a cast, whose text is the name of the column. */
  private static Origin origin(String name) {
    Integer zero = Integer.valueOf(0);
    return new Origin(
        scala.Option.apply(Integer.valueOf(1)),
        scala.Option.apply(zero),
        scala.Option.apply(zero),
        scala.Option.apply(Integer.valueOf(name.length() - 1)),
        scala.Option.apply(name),
        scala.Option.apply(OBJECT_TYPE),
        scala.Option.apply(name),
        ScalaConversions.none(),
        ScalaConversions.none(),
        ScalaConversions.none());
  }

  private static Alias alias(Expression value, Attribute column) {
    return new Alias(
        value,
        column.name(),
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.seq(new ArrayList<>()),
        ScalaConversions.none(),
        ScalaConversions.seq(new ArrayList<>()));
  }
}
