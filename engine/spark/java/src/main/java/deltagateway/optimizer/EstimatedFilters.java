package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StringPredicate;
import org.apache.spark.sql.catalyst.expressions.StringRegexExpression;
import org.apache.spark.sql.types.StringType;

/**
 * The filters of which Spark's cost model knows how many rows they leave. Of others, such as LIKE,
 * it takes it that they leave all, and would order joins as if the most selective filter of a query
 * were none.
 */
public final class EstimatedFilters {
  private EstimatedFilters() {}

  static boolean areAll(List<Expression> filters) {
    for (int i = 0; i < filters.size(); i++) {
      if (!isOne(filters.get(i))) return false;
    }
    return true;
  }

  /** Whether one of the filters says which values a column has. */
  static boolean hasValues(List<Expression> filters) {
    for (int i = 0; i < filters.size(); i++) {
      Expression filter = filters.get(i);
      boolean isEquality = filter instanceof EqualTo || filter instanceof EqualNullSafe;
      boolean isList = filter instanceof In || filter instanceof InSet;
      if ((isEquality || isList) && isPlain(ScalaConversions.list(filter.children()), true))
        return true;
    }
    return false;
  }

  /**
   * Whether one of the filters, which all have to hold, is of a kind that mostly leaves few rows.
   */
  static boolean haveSelective(List<Expression> filters) {
    for (int i = 0; i < filters.size(); i++) {
      Expression filter = filters.get(i);
      boolean isPattern =
          filter instanceof StringPredicate || filter instanceof StringRegexExpression;
      if (isPattern || hasValues(filters.subList(i, i + 1))) return true;
    }
    return false;
  }

  /** Adds the columns of which filters say that they have, or have not, some values. */
  static void addValued(List<Expression> filters, Set<String> names) {
    for (int i = 0; i < filters.size(); i++) {
      Expression filter = filters.get(i);
      List<Expression> children = ScalaConversions.list(filter.children());
      addValued(children, names);
      boolean isEquality = filter instanceof EqualTo || filter instanceof EqualNullSafe;
      if (!isEquality && !(filter instanceof In) && !(filter instanceof InSet)) continue;
      for (int j = 0; j < children.size(); j++) {
        if (children.get(j) instanceof Attribute) names.add(((Attribute) children.get(j)).name());
      }
    }
  }

  /**
   * Adds the ids of columns without whose bounds nobody can guess how many rows have a column that
   * is less than another one: of each two, if possible, not the one that is compared with a value
   * as well.
   */
  static void addGuessed(Expression condition, Set<Object> ids) {
    Set<ExprId> compared = new HashSet<>();
    List<ExprId[]> pairs = new ArrayList<>();
    addCompared(condition, compared, pairs);
    for (int i = 0; i < pairs.size(); i++) {
      Object left = pairs.get(i)[0];
      Object right = pairs.get(i)[1];
      if (!ids.contains(left) && !ids.contains(right))
        ids.add(compared.contains(left) ? right : left);
    }
  }

  private static void addCompared(
      Expression condition, Set<ExprId> withValues, List<ExprId[]> pairs) {
    List<Expression> children = ScalaConversions.list(condition.children());
    if (!(condition instanceof BinaryComparison)) {
      for (int i = 0; i < children.size(); i++) addCompared(children.get(i), withValues, pairs);
      return;
    }
    Expression left = children.get(0);
    Expression right = children.get(1);
    boolean isEquality = condition instanceof EqualTo || condition instanceof EqualNullSafe;
    if (left instanceof Attribute && right instanceof Attribute) {
      if (!isEquality)
        pairs.add(new ExprId[] {((Attribute) left).exprId(), ((Attribute) right).exprId()});
    } else if (left instanceof Attribute) {
      withValues.add(((Attribute) left).exprId());
    } else if (right instanceof Attribute) {
      withValues.add(((Attribute) right).exprId());
    }
  }

  private static boolean isOne(Expression filter) {
    if (filter instanceof Literal || filter instanceof IsNull || filter instanceof IsNotNull)
      return true;
    if (filter instanceof AttributeReference)
      return true; // a BOOLEAN, which seldom leaves few rows
    List<Expression> children = ScalaConversions.list(filter.children());
    if (filter instanceof And || filter instanceof Or || filter instanceof Not)
      return areAll(children);
    if (filter instanceof In || filter instanceof InSet) return isPlain(children, true);
    boolean isEquality = filter instanceof EqualTo || filter instanceof EqualNullSafe;
    return filter instanceof BinaryComparison && isPlain(children, isEquality);
  }

  /** Columns and values, and texts only where these may be. */
  private static boolean isPlain(List<Expression> operands, boolean texts) {
    for (int i = 0; i < operands.size(); i++) {
      Expression each = operands.get(i);
      if (!(each instanceof AttributeReference) && !(each instanceof Literal)) return false;
      if (!texts && each.dataType() instanceof StringType) return false;
    }
    return true;
  }
}
