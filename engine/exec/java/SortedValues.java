package deltagateway;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;

/**
 * Whether a whole number of up to 32 bits, or a date, is one of many: Spark makes a case of a switch of each value, here
 * they are looked up in an array that the code is given. Of other types Spark's own code has a set as a reference.
 */
public final class SortedValues extends InSet {
  public SortedValues(Expression child, scala.collection.immutable.Set values) {
    super(child, values);
  }

  /** Whether Spark may write the values of a list into code; one of NULL alone is like one of no values. */
  static boolean isInlined(Object node) {
    if (!(node instanceof InSet) || node instanceof SortedValues) return false;
    InSet list = (InSet) node;
    DataType type = list.child().dataType();
    boolean isInt = type instanceof IntegerType || type instanceof DateType;
    return (isInt || type instanceof ShortType || type instanceof ByteType) && sorted(list.hset()).length > 0;
  }

  private static int[] sorted(scala.collection.immutable.Set values) {
    int[] numbers = new int[values.size()];
    int count = 0;
    for (scala.collection.Iterator all = values.iterator(); all.hasNext(); ) {
      Object value = all.next();
      if (value != null) numbers[count++] = ((Number) value).intValue();
    }
    int[] sorted = Arrays.copyOf(numbers, count);
    Arrays.sort(sorted);
    return sorted;
  }

  public ExprCode doGenCode(CodegenContext context, final ExprCode code) {
    final boolean hasNull = hset().contains(null);
    final String values = context.addReferenceObj("values", sorted(hset()), "int[]");
    final String field = context.addMutableState(
        "int[]",
        "values",
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object name) {
            return name + " = " + values + ";";
          }
        },
        true,
        true);
    return nullSafeCodeGen(context, code, new scala.runtime.AbstractFunction1() {
      public Object apply(Object value) {
        String found = code.value() + " = java.util.Arrays.binarySearch(" + field + ", (int) " + value + ") >= 0;";
        return hasNull ? found + "\n" + code.isNull() + " = !" + code.value() + ";" : found;
      }
    });
  }

  public InSet withNewChildInternal(Expression child) {
    return new SortedValues(child, hset());
  }

  /** Not to Spark's own over the same values: Spark would keep that one. */
  public boolean canEqual(Object other) {
    return other instanceof SortedValues;
  }

  public boolean equals(Object other) {
    return other instanceof SortedValues && super.equals(other);
  }

  public int hashCode() {
    return super.hashCode();
  }
}
