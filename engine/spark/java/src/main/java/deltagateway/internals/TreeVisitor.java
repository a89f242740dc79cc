package deltagateway.internals;

import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * Visits tree nodes wherever they hang: in fields, options, collections, maps, tuples and arrays.
 */
public abstract class TreeVisitor {
  public abstract void visit(TreeNode<?> node);

  public final void visitFields(TreeNode<?> node) {
    scala.collection.Iterator<Object> fields = node.productIterator();
    while (fields.hasNext()) visitValue(fields.next());
  }

  public final void visitValue(Object value) {
    if (value instanceof TreeNode) visit((TreeNode) value);
    else if (value instanceof scala.collection.Iterable) {
      scala.collection.Iterator<?> items = ((scala.collection.Iterable<?>) value).iterator();
      while (items.hasNext()) visitValue(items.next());
    } else if (value instanceof Object[]) {
      Object[] items = (Object[]) value;
      for (int i = 0; i < items.length; i++) visitValue(items[i]);
    } else if (value instanceof scala.Product && value.getClass().getName().startsWith("scala.")) {
      scala.collection.Iterator<Object> items = ((scala.Product) value).productIterator();
      while (items.hasNext()) visitValue(items.next());
    }
  }
}
