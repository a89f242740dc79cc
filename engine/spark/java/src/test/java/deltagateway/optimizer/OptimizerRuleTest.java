package deltagateway.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.TestSpark;
import deltagateway.protocol.StatementRequest;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The registry of rules, their switches and counts. */
@Tag("spark")
class OptimizerRuleTest {
  @ParameterizedTest
  @EnumSource(OptimizerRule.class)
  void ruleIsOnUnlessItsSettingIsFalse(OptimizerRule rule) {
    assertTrue(rule.key().matches("spark\\.gateway\\.optimizer\\.[a-z][A-Za-z]+\\.enabled"));
    assertEquals(true, TestTables.with(Map.of(), rule::isEnabled));
    assertEquals(false, TestTables.without(rule, rule::isEnabled));
    for (OptimizerRule other : OptimizerRule.values()) {
      if (other != rule) assertEquals(true, TestTables.without(other, rule::isEnabled));
    }
  }

  @Test
  void settingWithAnotherValueThanABooleanIsRejected() {
    String key = OptimizerRule.POINT_LOOKUPS.key();
    var failure =
        assertThrows(
            IllegalArgumentException.class, () -> TestSpark.SPARK.conf().set(key, "maybe"));
    assertTrue(failure.getMessage().contains(key), failure.getMessage());
  }

  @Test
  void registryAsJsonHasEachRuleWithItsPlaceAndClass() throws Exception {
    JsonNode rules = StatementRequest.JSON.readTree(OptimizerRule.json());
    assertEquals(OptimizerRule.values().length, rules.size());
    JsonNode lookups = rules.get(OptimizerRule.POINT_LOOKUPS.ordinal());
    assertEquals("pointLookups", lookups.get("name").textValue());
    assertEquals("spark.gateway.optimizer.pointLookups.enabled", lookups.get("key").textValue());
    assertEquals("PREPARATION", lookups.get("place").textValue());
    for (JsonNode rule : rules) {
      assertNotNull(loaded(rule.get("class").textValue()), rule.get("name").textValue());
    }
  }

  private static Class<?> loaded(String name) throws ClassNotFoundException {
    return Class.forName(name);
  }

  @AfterEach
  void clearJobGroup() {
    TestSpark.SPARK.sparkContext().clearJobGroup();
  }

  @Test
  void countsBelongToTheStatementWhoseJobGroupTheThreadHas() {
    var context = TestSpark.SPARK.sparkContext();
    FiredRules.begin("counted");
    FiredRules.begin("other");
    context.setJobGroup("counted", "", false);
    OptimizerRule.POINT_LOOKUPS.count();
    OptimizerRule.POINT_LOOKUPS.count();
    OptimizerRule.LARGE_IN_LISTS.count();
    context.setJobGroup("unknown", "", false);
    OptimizerRule.SEMI_JOIN_REDUCTION.count();
    assertEquals(
        "{\"largeInLists\":1,\"pointLookups\":2}", FiredRules.of("counted").json().toString());
    assertEquals("{}", FiredRules.end("other").json().toString());
    assertEquals(
        "{\"largeInLists\":1,\"pointLookups\":2}", FiredRules.end("counted").json().toString());
    assertEquals("{}", FiredRules.end("counted").json().toString());
  }

  @Test
  void countsOfThreadsThatInheritTheJobGroupBelongToItsStatement() throws Exception {
    FiredRules.begin("parent");
    TestSpark.SPARK.sparkContext().setJobGroup("parent", "", false);
    var failure = new AtomicReference<Throwable>();
    Thread thread = new Thread(OptimizerRule.DYNAMIC_FILE_PRUNING::count);
    thread.setUncaughtExceptionHandler((ended, thrown) -> failure.set(thrown));
    thread.start();
    thread.join();
    assertEquals(null, failure.get());
    assertEquals("{\"dynamicFilePruning\":1}", FiredRules.end("parent").json().toString());
  }
}
