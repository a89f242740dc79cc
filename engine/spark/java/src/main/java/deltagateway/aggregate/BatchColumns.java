package deltagateway.aggregate;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;

/** Positions of attributes in a batch, and what a projection above it computes from them. */
final class BatchColumns {
  private final Map<ExprId, Integer> ordinals = new HashMap<>();
  private final Map<ExprId, Expression> projected = new HashMap<>();

  BatchColumns(scala.collection.Seq<Attribute> output) {
    for (int i = 0; i < output.size(); i++) ordinals.put(output.apply(i).exprId(), i);
  }

  /** Adds the columns of a projection. */
  void project(scala.collection.Seq<NamedExpression> list) {
    for (int i = 0; i < list.size(); i++) {
      if (list.apply(i) instanceof Alias alias) projected.put(alias.exprId(), alias.child());
    }
  }

  /** Returns an attribute's position; -1 if it is not a column of the batch. */
  int ordinal(Attribute attribute) {
    return ordinals.getOrDefault(attribute.exprId(), -1);
  }

  /** Returns an expression without the names of the projection. */
  Expression resolve(Expression expression) {
    if (!(expression instanceof Attribute attribute)) return expression;
    return projected.getOrDefault(attribute.exprId(), expression);
  }

  /** Returns an expression over the columns by their positions, for Spark's evaluation. */
  Expression bind(Expression expression) {
    Expression source = resolve(expression);
    if (source != expression) return bind(source);
    if (expression instanceof Attribute attribute) {
      return new BoundReference(ordinal(attribute), attribute.dataType(), attribute.nullable());
    }
    List<Expression> children = new ArrayList<>();
    for (Expression child : ScalaConversions.list(expression.children())) {
      children.add(bind(child));
    }
    return children.isEmpty()
        ? expression
        : expression.withNewChildren(ScalaConversions.seq(children));
  }
}
