package deltagateway.connect;

import java.util.List;
import org.apache.spark.connect.proto.Expression;
import org.apache.spark.connect.proto.Relation;
import org.apache.spark.connect.proto.StatSampleBy;

/**
 * Samples with a fraction for each stratum, which the planner would draw by a function of Scala.
 */
final class StrataSamples {
  private StrataSamples() {}

  /** Returns the sample as a filter with the random numbers of the planner. */
  static Relation filtered(Relation relation) {
    StatSampleBy sample = relation.getSampleBy();
    if (!sample.getUnknownFields().asMap().isEmpty())
      throw AllowedMessages.part("an unknown field of StatSampleBy");
    Expression.Builder random = call("rand").toBuilder();
    random.getUnresolvedFunctionBuilder().addArguments(literal(sample.getSeed()));
    Relation.Builder filtered = Relation.newBuilder().setCommon(relation.getCommon());
    filtered
        .getFilterBuilder()
        .setInput(sample.getInput())
        .setCondition(call("<", random.build(), fraction(sample)));
    return filtered.build();
  }

  /** Returns the fraction of a row's stratum; 0 for one that has none. */
  private static Expression fraction(StatSampleBy sample) {
    if (sample.getFractionsCount() == 0) return literal(0.0);
    Expression.Builder choice = call("when").toBuilder();
    for (StatSampleBy.Fraction stratum : sample.getFractionsList()) {
      if (!stratum.getUnknownFields().asMap().isEmpty())
        throw AllowedMessages.part("an unknown field of StatSampleBy.Fraction");
      if (!(stratum.getFraction() >= 0 && stratum.getFraction() <= 1))
        throw AllowedMessages.part("a fraction of sampleBy that is not between 0 and 1");
      Expression value = Expression.newBuilder().setLiteral(stratum.getStratum()).build();
      choice
          .getUnresolvedFunctionBuilder()
          .addArguments(call("<=>", sample.getCol(), value))
          .addArguments(literal(stratum.getFraction()));
    }
    choice.getUnresolvedFunctionBuilder().addArguments(literal(0.0));
    return choice.build();
  }

  private static Expression call(String name, Expression... arguments) {
    Expression.Builder call = Expression.newBuilder();
    call.getUnresolvedFunctionBuilder().setFunctionName(name).addAllArguments(List.of(arguments));
    return call.build();
  }

  private static Expression literal(double value) {
    return Expression.newBuilder()
        .setLiteral(Expression.Literal.newBuilder().setDouble(value))
        .build();
  }

  private static Expression literal(long value) {
    return Expression.newBuilder()
        .setLiteral(Expression.Literal.newBuilder().setLong(value))
        .build();
  }
}
