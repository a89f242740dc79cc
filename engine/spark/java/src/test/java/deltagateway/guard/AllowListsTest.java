package deltagateway.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import deltagateway.protocol.RejectionException;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.objenesis.ObjenesisStd;

/**
 * Each class of operators and expressions of the installed Spark, created without its constructor:
 * the guard decides by the class.
 */
@Tag("spark")
class AllowListsTest {
  private static final PlanGuard GUARD = TestSpark.guard();
  private static final ObjenesisStd OBJENESIS = new ObjenesisStd();

  private static final String OPERATORS =
      "Aggregate AsOfJoin Distinct Except Filter Generate GlobalLimit Intersect Join LateralJoin"
          + " LimitAll LocalLimit LocalRelation NearestByJoin Offset OneRowRelation PipeOperator"
          + " Pivot Project Range RebalancePartitions Repartition RepartitionByExpression Sample"
          + " Sort SubqueryAlias Union UnionLoop Unpivot Window WithWindowDefinition";
  private static final String PARSED =
      " UnresolvedHaving UnresolvedHint UnresolvedInlineTable UnresolvedQualify UnresolvedRelation"
          + " UnresolvedSubqueryColumnAliases UnresolvedTVFAliases UnresolvedTableValuedFunction"
          + " UnresolvedWith";
  private static final String ANALYZED =
      " CTERelationDef CTERelationRef CollectMetrics Deduplicate EmptyRelation Expand"
          + " ResolvedHint ResolvedInlineTable UnionLoopRef View WithCTE";

  private static final List<Class<?>> CLASSES = new ArrayList<>();

  /** Loads the classes of trees in the jars of Spark's SQL. */
  @BeforeAll
  static void loadClasses() throws Exception {
    for (Class<?> inJar : List.of(LogicalPlan.class, Dataset.class)) {
      Path jar = Path.of(inJar.getProtectionDomain().getCodeSource().getLocation().toURI());
      for (String name : namesIn(jar)) {
        try {
          Class<?> candidate = Class.forName(name, false, TreeNode.class.getClassLoader());
          if (TreeNode.class.isAssignableFrom(candidate)
              && !Modifier.isAbstract(candidate.getModifiers())) CLASSES.add(candidate);
        } catch (LinkageError missing) {
          continue; // extends a class of an optional library
        }
      }
    }
  }

  private static <T> List<Class<? extends T>> classesOf(Class<T> type) {
    List<Class<? extends T>> classes = new ArrayList<>();
    for (Class<?> candidate : CLASSES)
      if (type.isAssignableFrom(candidate)) classes.add(candidate.asSubclass(type));
    return classes;
  }

  private static List<String> namesIn(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.stream()
          .map(entry -> entry.getName())
          .filter(name -> name.startsWith("org/apache/spark/sql/") && name.endsWith(".class"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .toList();
    }
  }

  private static String simpleName(Class<?> type) {
    String name = type.getName().substring(type.getName().lastIndexOf('.') + 1);
    return name.endsWith("$") ? name.substring(0, name.length() - 1) : name;
  }

  /** Returns true if the guard has no objection to the class; a later failure has other reasons. */
  private static <T> boolean passes(T node, Consumer<T> check, String kind) {
    try {
      check.accept(node);
      return true;
    } catch (RejectionException rejection) {
      return !rejection.kind().equals(kind);
    } catch (RuntimeException withoutFields) {
      return true;
    }
  }

  private static Set<String> allowed(Consumer<LogicalPlan> check) {
    Set<String> names = new TreeSet<>();
    List<Class<? extends LogicalPlan>> classes = classesOf(LogicalPlan.class);
    assertTrue(classes.size() > 300, "" + classes.size());
    for (Class<? extends LogicalPlan> type : classes)
      if (passes(OBJENESIS.newInstance(type), check, "operator")) names.add(simpleName(type));
    return names;
  }

  @Test
  void onlyListedOperatorsOfSparkMayBeAnalyzed() {
    assertEquals(
        new TreeSet<>(TestSpark.words(OPERATORS + PARSED)),
        allowed(plan -> GUARD.ensureMayAnalyze(plan, Set.of())));
  }

  @Test
  void onlyListedOperatorsOfSparkMayRun() {
    Set<String> expected = new TreeSet<>(TestSpark.words(OPERATORS + ANALYZED));
    // Its source decides.
    expected.add("LogicalRelation");
    assertEquals(expected, allowed(plan -> GUARD.ensureMayRun(plan, "s")));
  }

  @Test
  void onlyListedExpressionsOfSparkMayBeAnalyzed() {
    Set<String> listed = TestSpark.list("expressions");
    Set<String> passed = new TreeSet<>();
    Set<String> expected = new TreeSet<>();
    for (Class<? extends Expression> type : classesOf(Expression.class)) {
      if (listed.contains(type.getName())) expected.add(type.getName());
      Expression expression = OBJENESIS.newInstance(type);
      if (passes(expression, GUARD::ensureMayAnalyze, "expression")) passed.add(type.getName());
    }
    // Without their fields these call no method of Spark.
    expected.removeIf(name -> name.endsWith(".objects.Invoke"));
    passed.removeIf(name -> name.endsWith(".objects.Invoke"));
    assertTrue(expected.size() > 400, "" + expected.size());
    assertEquals(expected, passed);
  }

  static Stream<String> rejectedExpressions() {
    return TestSpark.list("refusedExpressions").stream().sorted();
  }

  @ParameterizedTest
  @MethodSource("rejectedExpressions")
  void expressionOfAServersRejectedListIsRejectedInBothPhases(String name) throws Exception {
    Class<?> type = Class.forName(name, false, Expression.class.getClassLoader());
    if (Modifier.isAbstract(type.getModifiers())) return;
    Object node = OBJENESIS.newInstance(type);
    if (!(node instanceof Expression expression)) return;
    assertRejected(type, () -> GUARD.ensureMayAnalyze(expression));
    // In a list of such expressions only, the same node passes.
    PlanGuard other = new PlanGuard(Set.of(), Set.of(), Set.of(name));
    assertTrue(passes(expression, other::ensureMayAnalyze, "expression"));
  }

  private static void assertRejected(Class<?> type, Runnable check) {
    RejectionException rejection = assertThrows(RejectionException.class, check::run);
    assertEquals("expression " + simpleName(type), rejection.kind() + " " + rejection.subject());
  }

  @Test
  void operatorWithAListedNameInAnotherPackageIsRejected() {
    LogicalPlan rows = TestSpark.analyzed("SELECT 1");
    for (Consumer<LogicalPlan> check :
        List.<Consumer<LogicalPlan>>of(
            plan -> GUARD.ensureMayAnalyze(plan, Set.of()),
            plan -> GUARD.ensureMayRun(plan, "s"))) {
      check.accept(new org.apache.spark.sql.catalyst.plans.logical.Distinct(rows));
      RejectionException rejection =
          assertThrows(RejectionException.class, () -> check.accept(new Distinct()));
      assertEquals("operator Distinct", rejection.kind() + " " + rejection.subject());
    }
  }
}
