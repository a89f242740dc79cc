package deltagateway.optimizer;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.aggregate.VectorizedAggregates;
import deltagateway.cache.ColumnCache;
import deltagateway.cache.PlanCache;
import deltagateway.protocol.StatementRequest;
import deltagateway.session.ExecutionSettings;
import java.util.Locale;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Registry of the gateway's rules, including its caches of plans and columns.
 *
 * <p>Each rule has a switch, {@link #key}, a setting of Spark with the default true. No rule
 * changes an answer; {@link CorrelatedLimits} corrects wrong answers of Spark, so it has no switch.
 */
public enum OptimizerRule {
  LARGE_IN_LISTS(Place.RESOLUTION, LargeInLists.class),
  SCAN_STATISTICS(Place.PRE_CBO, ScanStatistics.class),
  DICTIONARY_SIZES(Place.PRE_CBO, DictionarySizes.class),
  UNSCALED_DECIMAL_AGGREGATES(Place.POST_OPTIMIZATION, UnscaledDecimalAggregates.class),
  SEMI_JOIN_REDUCTION(Place.POST_OPTIMIZATION, SemiJoinReduction.class),
  BROADCAST_SELECTION(Place.POST_OPTIMIZATION, BroadcastSelection.class),
  LIMIT_PRUNING(Place.POST_OPTIMIZATION, LimitPruning.class),
  MIXED_PARTITION_FILTERS(Place.STRATEGY, MixedPartitionFilters.class),
  UNSCALED_DECIMAL_COMPARISONS(Place.STRATEGY, UnscaledDecimalComparisons.class),
  FULL_SAMPLES(Place.STRATEGY, FullSamples.class),
  SINGLE_TASK_HASH_JOIN(Place.STRATEGY, SingleTaskHashJoin.class),
  SINGLE_PARTITION_EXCHANGES(Place.PREPARATION, SinglePartitionExchanges.class),
  POINT_LOOKUPS(Place.PREPARATION, PointLookups.class),
  VECTORIZED_AGGREGATES(Place.COLUMNAR, VectorizedAggregates.class),
  DYNAMIC_FILE_PRUNING(Place.QUERY_STAGE, DynamicFilePruning.class),
  SINGLE_TASK_EXECUTION(Place.EXECUTION, ExecutionSettings.class),
  STATIC_PLANS(Place.EXECUTION, ExecutionSettings.class),
  INTERPRETED_PLANS(Place.EXECUTION, ExecutionSettings.class),
  PLAN_CACHE(Place.CACHE, PlanCache.class),
  COLUMN_CACHE(Place.CACHE, ColumnCache.class);

  /** Where Spark, or the gateway around Spark's optimizer and planner, applies a rule. */
  public enum Place {
    /** While names and types are resolved. */
    RESOLUTION,
    /** Before joins are ordered by cost. */
    PRE_CBO,
    /** On the plan that Spark's optimizer returns, with the sizes of its scans. */
    POST_OPTIMIZATION,
    /** Strategy of the planner. */
    STRATEGY,
    /** Before a physical plan without adaptive execution runs. */
    PREPARATION,
    /** On physical plans, after the transitions between batches and rows. */
    COLUMNAR,
    /** Before adaptive execution runs a query stage. */
    QUERY_STAGE,
    /** Settings with which a statement is planned and run. */
    EXECUTION,
    /** Reuse of what an earlier statement made. */
    CACHE
  }

  private final Place place;
  private final Class<?> implementation;
  private final String ruleName;
  private final ConfigEntry<Object> entry;

  OptimizerRule(Place place, Class<?> implementation) {
    this.place = place;
    this.implementation = implementation;
    this.ruleName = camelCase(name());
    this.entry =
        SQLConf.buildConf("spark.gateway.optimizer." + ruleName + ".enabled")
            .booleanConf()
            .createWithDefault(true);
  }

  private static String camelCase(String constant) {
    var name = new StringBuilder();
    for (String word : constant.split("_")) {
      name.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
    }
    return name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1);
  }

  /** Returns the name in settings, profiles and EXPLAIN. */
  public String ruleName() {
    return ruleName;
  }

  public Place place() {
    return place;
  }

  public Class<?> implementation() {
    return implementation;
  }

  /** Returns the name of the setting that switches the rule. */
  public String key() {
    return entry.key();
  }

  /** Returns whether the rule is on in the settings that are in effect on this thread. */
  public boolean isEnabled() {
    return isEnabled(SQLConf.get());
  }

  public boolean isEnabled(SQLConf settings) {
    return (Boolean) settings.getConf(entry);
  }

  /** Counts one application that changed something, for the statement of this thread or task. */
  public void count() {
    FiredRules.count(this);
  }

  /** Registers the switches, so that Spark knows them before any session is opened. */
  public static void register() {
    values();
  }

  /** Returns an array with name, setting, place and class of each rule. */
  public static String json() {
    ArrayNode rules = StatementRequest.JSON.createArrayNode();
    for (OptimizerRule rule : values()) {
      rules
          .addObject()
          .put("name", rule.ruleName)
          .put("key", rule.key())
          .put("place", rule.place.name())
          .put("class", rule.implementation.getName());
    }
    return rules.toString();
  }
}
