package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion$;
import org.apache.spark.sql.catalyst.analysis.TypeCoercion$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NullType$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * `x IN (1, 2, …)` with a long list in a condition, as the set of values that Spark's optimizer
 * makes of it (OptimizeIn).
 *
 * <p>Each literal is a node that all rules of Spark's analyzer and optimizer walk over, and that
 * its type coercion puts a cast on: seconds for a hundred thousand. So the list is taken from the
 * plan before it is analyzed ({@link #hidden}), and comes back as a set as soon as the type of `x`
 * is known ({@link #settled}), with the values in the type that Spark's coercion compares them in.
 * Where that is not plain (no common type, a value that fails its cast, texts with a collation or
 * of type CHAR) the list itself comes back, and Spark does, or says, what it always does.
 */
public final class LargeInLists {
  private static final int VALUES_MIN = 1000;
  private static final Set<String> PLAIN = new HashSet<>();

  static {
    String names =
        "boolean tinyint smallint int bigint float double date timestamp timestamp_ntz binary"
            + " string void";
    String[] all = names.split(" ");
    for (int i = 0; i < all.length; i++) PLAIN.add(all[i]);
  }

  private LargeInLists() {}

  /**
   * The rule that takes lists out of conditions; a selected value keeps its own, of which its
   * column has the name.
   */
  public static Rule<?> hidden() {
    return new Hidden();
  }

  /** The rule that puts them back. */
  public static Rule<?> settled() {
    return new Settled();
  }

  private static final class Hidden extends Rule {
    public TreeNode apply(TreeNode plan) {
      return ((LogicalPlan) plan).resolveOperatorsUp(new Conditions());
    }
  }

  private static final class Settled extends Rule {
    public TreeNode apply(TreeNode plan) {
      return ((LogicalPlan) plan).resolveOperatorsUp(new InConditions());
    }
  }

  private static boolean hasCondition(Object node) {
    return node instanceof Filter || node instanceof Join;
  }

  private static final class Conditions extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return hasCondition(node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return ((LogicalPlan) node).transformExpressionsUp(new Hiding());
    }
  }

  private static final class InConditions extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return hasCondition(node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return ((LogicalPlan) node).transformExpressionsUp(new Settling());
    }
  }

  private static final class Hiding extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      if (!(node instanceof In) || ((In) node).list().size() < VALUES_MIN) return false;
      for (scala.collection.Iterator<Expression> all = ((In) node).list().iterator();
          all.hasNext(); ) {
        if (!(all.next() instanceof Literal)) return false;
      }
      return true;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return new OpaqueIn(((In) node).value(), ((In) node).list());
    }
  }

  private static final class Settling extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof OpaqueIn && ((OpaqueIn) node).value.resolved();
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      OpaqueIn hidden = (OpaqueIn) node;
      Expression value = hidden.value;
      Expression set = set(value, hidden.list);
      return set == null ? new In(value, hidden.list) : set;
    }
  }

  /** Null where the list has to do. */
  private static Expression set(Expression value, scala.collection.immutable.Seq<Expression> list) {
    List<DataType> types = new ArrayList<>();
    types.add(value.dataType());
    for (scala.collection.Iterator<Expression> all = list.iterator(); all.hasNext(); ) {
      DataType type = ((Literal) all.next()).dataType();
      if (!types.contains(type)) types.add(type);
    }
    for (int i = 0; i < types.size(); i++) if (!isPlain(types.get(i))) return null;
    for (scala.collection.Iterator<Attribute> all = value.references().iterator();
        all.hasNext(); ) {
      if (CharVarcharUtils.getRawType(all.next().metadata()).isDefined()) return null;
    }
    DataType common = types.size() == 1 ? value.dataType() : common(types);
    if (common == null || common == NullType$.MODULE$) return null;
    Set<Object> values = new HashSet<>();
    try {
      for (scala.collection.Iterator<Expression> all = list.iterator(); all.hasNext(); ) {
        values.add(cast((Literal) all.next(), common).eval(null));
      }
    } catch (RuntimeException failed) {
      return null;
    }
    return new InSet(cast(value, common), CollectionConverters.asScala(values).toSet());
  }

  private static boolean isPlain(DataType type) {
    return type instanceof DecimalType || PLAIN.contains(type.simpleString());
  }

  /** As Spark's rule for IN; null without one. */
  private static DataType common(List<DataType> types) {
    scala.Option<DataType> found =
        SQLConf$.MODULE$.get().ansiEnabled()
            ? AnsiTypeCoercion$.MODULE$.findWiderCommonType(ScalaConversions.seq(types))
            : TypeCoercion$.MODULE$.findWiderCommonType(ScalaConversions.seq(types));
    return found.isDefined() ? found.get() : null;
  }

  private static Expression cast(Expression value, DataType type) {
    if (value.dataType().equals(type)) return value;
    scala.Option<String> zone = new scala.Some<>(SQLConf$.MODULE$.get().sessionLocalTimeZone());
    return Cast$.MODULE$.apply(value, type, zone, SQLConf$.MODULE$.get().ansiEnabled());
  }
}
