package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;

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
 * Filters whose selectivity Spark's cost model can estimate. It assumes that others, such as LIKE,
 * accept all rows, and would order joins as if the most selective filter of a query did not exist.
 */
final class EstimatedFilters {
  private EstimatedFilters() {}

  static boolean areAll(List<Expression> filters) {
    return filters.stream().allMatch(EstimatedFilters::isEstimable);
  }

  /** Returns whether a filter lists the values of a column. */
  static boolean hasValues(List<Expression> filters) {
    return filters.stream()
        .anyMatch(
            filter ->
                (isEquality(filter) || isList(filter))
                    && areColumnsAndLiterals(list(filter.children()), true));
  }

  /** Returns whether one of the filters, which are a conjunction, usually accepts few rows. */
  static boolean haveSelective(List<Expression> filters) {
    return filters.stream()
        .anyMatch(
            filter ->
                filter instanceof StringPredicate
                    || filter instanceof StringRegexExpression
                    || hasValues(List.of(filter)));
  }

  /** Adds the columns that filters compare with listed values, also by negation. */
  static void addValued(List<Expression> filters, Set<String> names) {
    for (Expression filter : filters) {
      List<Expression> children = list(filter.children());
      addValued(children, names);
      if (!isEquality(filter) && !isList(filter)) continue;
      for (Expression child : children) {
        if (child instanceof Attribute column) names.add(column.name());
      }
    }
  }

  /**
   * Adds, for each inequality of two columns, the id of one whose bounds the cost model would use
   * to guess a selectivity. If possible it is not a column that is also compared with a value.
   */
  static void addComparedColumns(Expression condition, Set<ExprId> ids) {
    Set<ExprId> withValues = new HashSet<>();
    List<BinaryComparison> inequalities = new ArrayList<>();
    addComparisons(condition, withValues, inequalities);
    for (BinaryComparison each : inequalities) {
      ExprId left = ((Attribute) each.left()).exprId();
      ExprId right = ((Attribute) each.right()).exprId();
      if (!ids.contains(left) && !ids.contains(right)) {
        ids.add(withValues.contains(left) ? right : left);
      }
    }
  }

  private static void addComparisons(
      Expression condition, Set<ExprId> withValues, List<BinaryComparison> inequalities) {
    if (!(condition instanceof BinaryComparison comparison)) {
      list(condition.children()).forEach(each -> addComparisons(each, withValues, inequalities));
      return;
    }
    var left = comparison.left() instanceof Attribute column ? column : null;
    var right = comparison.right() instanceof Attribute column ? column : null;
    if (left != null && right != null) {
      if (!isEquality(condition)) inequalities.add(comparison);
    } else if (left != null) {
      withValues.add(left.exprId());
    } else if (right != null) {
      withValues.add(right.exprId());
    }
  }

  private static boolean isEstimable(Expression filter) {
    if (filter instanceof Literal || filter instanceof IsNull || filter instanceof IsNotNull) {
      return true;
    }
    if (filter instanceof AttributeReference) return true; // a BOOLEAN, which accepts many rows
    List<Expression> children = list(filter.children());
    if (filter instanceof And || filter instanceof Or || filter instanceof Not) {
      return areAll(children);
    }
    if (isList(filter)) return areColumnsAndLiterals(children, true);
    return filter instanceof BinaryComparison
        && areColumnsAndLiterals(children, isEquality(filter));
  }

  private static boolean isEquality(Expression filter) {
    return filter instanceof EqualTo || filter instanceof EqualNullSafe;
  }

  private static boolean isList(Expression filter) {
    return filter instanceof In || filter instanceof InSet;
  }

  private static boolean areColumnsAndLiterals(List<Expression> operands, boolean allowsStrings) {
    return operands.stream()
        .allMatch(
            operand ->
                (operand instanceof AttributeReference || operand instanceof Literal)
                    && (allowsStrings || !(operand.dataType() instanceof StringType)));
  }
}
