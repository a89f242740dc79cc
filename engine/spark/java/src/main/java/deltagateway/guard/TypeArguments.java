package deltagateway.guard;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.ExprUtils$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Check of arguments that are types, in functions such as from_json.
 *
 * <p>The argument is any constant expression, which Spark evaluates when it builds the call. So the
 * check replaces the functions that build the calls: it evaluates the argument, checks the text,
 * and puts the text in the argument's place. Spark's own evaluation could have another result, for
 * example after a change of the time.
 */
public final class TypeArguments {
  /** Position of the type among the arguments of each function that has one. */
  private static final Map<String, Integer> POSITIONS =
      Map.of("from_csv", 1, "from_json", 1, "from_xml", 1, "try_variant_get", 2, "variant_get", 2);

  private TypeArguments() {}

  /**
   * Adds the check to the functions of Spark, which each session copies when it starts. Analysis of
   * default values uses these too.
   */
  public static void register() {
    POSITIONS.forEach(TypeArguments::register);
  }

  private static void register(String name, int position) {
    FunctionRegistry functions = FunctionRegistry$.MODULE$.builtin();
    FunctionIdentifier id = FunctionRegistry$.MODULE$.builtinFunctionIdentifier(name);
    Tuple2<ExpressionInfo, Function1<Seq<Expression>, Expression>> entry =
        functions.lookupFunctionEntry(id).get();
    if (entry._2() instanceof Check) return;
    functions.registerFunction(id, entry._1(), new Check(position, entry._2()));
  }

  private static final class Check extends AbstractFunction1<Seq<Expression>, Expression> {
    private final int position;
    private final Function1<Seq<Expression>, Expression> build;

    Check(int position, Function1<Seq<Expression>, Expression> build) {
      this.position = position;
      this.build = build;
    }

    @Override
    public Expression apply(Seq<Expression> arguments) {
      List<Expression> checked = new ArrayList<>(ScalaConversions.list(arguments));
      if (checked.size() > position) checked.set(position, checked(checked.get(position)));
      return build.apply(ScalaConversions.seq(checked));
    }

    /** Returns other expressions as they are: Spark rejects what is no constant text. */
    private static Expression checked(Expression argument) {
      if (!argument.foldable()) return argument;
      Object value = ExprUtils$.MODULE$.prepareForEval(argument).eval(null);
      if (!(value instanceof UTF8String text)) return argument;
      return Literal.create(UTF8String.fromString(checked(text.toString())), argument.dataType());
    }

    /** Spark reads a type as DDL, and as JSON if it is none. */
    private static String checked(String text) {
      try {
        DataType$.MODULE$.fromDDL(text);
        return text;
      } catch (Exception noDdl) {
        JsonNode json = TypeTexts.json(text);
        if (json == null) throw noDdl; // as Spark does
        TypeTexts.removeClasses(json);
        String rejected = TypeTexts.rejectedPart(json);
        if (rejected != null) throw new RejectionException("a type with", rejected);
        return json.toString();
      }
    }
  }
}
