package deltagateway.internals;

import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Visits all tree nodes that a node refers to: in fields, options, collections, maps, tuples and
 * arrays.
 */
public abstract class TreeVisitor {
  public abstract void visit(TreeNode<?> node);

  protected final void visitFields(TreeNode<?> node) {
    visitAll(node.productIterator());
  }

  private void visitAll(scala.collection.Iterator<?> values) {
    CollectionConverters.asJava(values).forEachRemaining(this::visitValue);
  }

  private void visitValue(Object value) {
    if (value instanceof TreeNode<?> node) visit(node);
    else if (value instanceof scala.collection.Iterable<?> items) visitAll(items.iterator());
    else if (value instanceof Object[] items) for (Object item : items) visitValue(item);
    else if (value instanceof Product tuple && value.getClass().getName().startsWith("scala."))
      visitAll(tuple.productIterator());
  }
}
