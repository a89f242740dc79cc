package deltagateway.connect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestRequests;
import deltagateway.TestSpark;
import deltagateway.guard.PlanGuard;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.connect.proto.Expression;
import org.apache.spark.connect.proto.JvmOrigin;
import org.apache.spark.connect.proto.Origin;
import org.apache.spark.connect.proto.Relation;
import org.apache.spark.connect.proto.RelationCommon;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan$;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Plans of DataFrames, with the lists of a server. */
@Tag("spark")
class DataFramePlansTest {
  private static final PlanGuard GUARD = TestSpark.guard();
  private static final String INPUT = "gateway_input_0";

  private static Relation table(String name) {
    Relation.Builder relation = Relation.newBuilder();
    relation.getReadBuilder().getNamedTableBuilder().setUnparsedIdentifier(name);
    return relation.build();
  }

  private static Relation withId(Relation relation, long id) {
    RelationCommon.Builder common = RelationCommon.newBuilder().setPlanId(id);
    common.setOrigin(Origin.newBuilder().setJvmOrigin(JvmOrigin.newBuilder().setLine(1)));
    return relation.toBuilder().setCommon(common).build();
  }

  private static Relation project(Relation input, String function) {
    Expression.Builder column = Expression.newBuilder();
    column.getUnresolvedAttributeBuilder().setUnparsedIdentifier("id");
    Relation.Builder project = Relation.newBuilder();
    project
        .getProjectBuilder()
        .setInput(input)
        .addExpressionsBuilder()
        .getUnresolvedFunctionBuilder()
        .setFunctionName(function)
        .addArguments(column);
    return project.build();
  }

  private static Relation filled(Relation input) {
    Relation.Builder filled = Relation.newBuilder();
    filled.getFillNaBuilder().setInput(input).addValuesBuilder().setLong(0);
    return filled.build();
  }

  private static LogicalPlan parse(Relation relation, String... alias) throws Exception {
    String plan = Base64.getEncoder().encodeToString(relation.toByteArray());
    StatementRequest.FrameInput input = new StatementRequest.FrameInput("rows", List.of(alias));
    StatementRequest.Frame frame = new StatementRequest.Frame(plan, Map.of(INPUT, input));
    String request = TestRequests.statement("statement-1", "SELECT 1").toString();
    return DataFramePlans.parse(TestSpark.SPARK, GUARD, frame, new StatementRequest(request));
  }

  private static <T extends LogicalPlan> List<T> nodes(LogicalPlan plan, Class<T> type) {
    List<T> found = new ArrayList<>();
    plan.foreach(
        node -> {
          if (type.isInstance(node)) found.add(type.cast(node));
          return null;
        });
    return found;
  }

  private static Object planId(LogicalPlan plan) {
    return plan.getTagValue(LogicalPlan$.MODULE$.PLAN_ID_TAG()).get();
  }

  @Test
  void namedTableBecomesTheRelationOfItsInput() throws Exception {
    LogicalPlan plan = parse(project(withId(table(INPUT), 7), "abs"));
    List<UnresolvedRelation> relations = nodes(plan, UnresolvedRelation.class);
    assertEquals(1, relations.size());
    assertEquals("rows", relations.get(0).name());
    assertEquals(7L, planId(relations.get(0)));
    GUARD.ensureMayAnalyzeFrame(plan, Set.of("rows"), "statement-1");
    RejectionException refused =
        assertThrows(
            RejectionException.class,
            () -> GUARD.ensureMayAnalyzeFrame(plan, Set.of("other"), "statement-1"));
    assertEquals("relation", refused.kind());
  }

  @Test
  void aliasOfAnInputHasTheIdOfItsDataFrame() throws Exception {
    LogicalPlan plan = parse(withId(table(INPUT), 7), "c", "s", "t");
    SubqueryAlias alias = nodes(plan, SubqueryAlias.class).get(0);
    assertEquals("c.s.t", alias.identifier().toString().replace("`", ""));
    assertEquals(7L, planId(alias));
  }

  @Test
  void viewThatThePlannerAnalyzesIsCheckedAsAnalyzed() throws Exception {
    TestSpark.name("rows", TestSpark.analyzed("SELECT id FROM range(3)"));
    LogicalPlan plan = parse(filled(table(INPUT)));
    assertEquals(1, nodes(plan, View.class).size());
    GUARD.ensureMayAnalyzeFrame(plan, Set.of("rows"), "statement-1");
    assertThrows(RejectionException.class, () -> GUARD.ensureMayAnalyze(plan, Set.of("rows")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"java_method", "__body_1", "builtin.abs", "reflect", "no_such", ""})
  void functionThatIsNotListedIsRejected(String name) {
    RejectionException refused =
        assertThrows(RejectionException.class, () -> parse(project(table(INPUT), name)));
    assertEquals("function", refused.kind());
  }

  @ParameterizedTest
  @ValueSource(strings = {"rows", "other", "`gateway_input_0`", "delta.`/t`", ""})
  void tableThatIsNoInputIsRejected(String name) {
    RejectionException refused = assertThrows(RejectionException.class, () -> parse(table(name)));
    assertEquals(List.of("relation", name), List.of(refused.kind(), refused.subject()));
  }

  @Test
  void kindThatIsNotListedIsRejectedByName() {
    Relation.Builder shown = Relation.newBuilder();
    shown.getShowStringBuilder().setInput(table(INPUT));
    RejectionException refused = assertThrows(RejectionException.class, () -> parse(shown.build()));
    assertTrue(refused.subject().contains("ShowString"), refused.subject());
  }
}
