package deltagateway.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import deltagateway.TestSpark;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.classic.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of a session, of a statement and of the process. */
@Tag("spark")
class SettingsTest {
  private static final String PARTITIONS = "spark.sql.shuffle.partitions";

  private final SparkSession spark = TestSpark.SPARK.newSession();
  private final SessionSettings settings = new SessionSettings(spark);

  @Test
  void changesOfAStatementAreNotThoseOfTheSession() {
    assertEquals(7, settings.with(Map.of(PARTITIONS, "7")).numShufflePartitions());
    assertEquals(1, spark.sessionState().conf().numShufflePartitions());
  }

  @Test
  void settingOfTheUserIsNotChangedForAStatement() {
    settings.set(PARTITIONS, "5");
    assertTrue(settings.hasSet(PARTITIONS));
    assertEquals(5, settings.with(Map.of(PARTITIONS, "7")).numShufflePartitions());
    settings.unset(PARTITIONS);
    assertFalse(settings.hasSet(PARTITIONS));
    assertEquals(7, settings.with(Map.of(PARTITIONS, "7")).numShufflePartitions());
  }

  @Test
  void settingThatTheUserHasNotChosenMayBeChangedForAStatement() {
    settings.change(PARTITIONS, "5");
    assertFalse(settings.hasSet(PARTITIONS));
    assertEquals(5, settings.with(Map.of()).numShufflePartitions());
    assertEquals(7, settings.with(Map.of(PARTITIONS, "7")).numShufflePartitions());
  }

  @Test
  void copyIsSharedUntilTheSessionChanges() {
    var copy = settings.with(Map.of(PARTITIONS, "7"));
    assertSame(copy, settings.with(Map.of(PARTITIONS, "7")));
    long changes = settings.changes();
    settings.set("spark.sql.ansi.enabled", "false");
    settings.set("spark.sql.ansi.enabled", "true");
    assertEquals(changes + 2, settings.changes());
    assertNotSame(copy, settings.with(Map.of(PARTITIONS, "7")));
  }

  @Test
  void manyCopiesAreDroppedAndMadeAgain() {
    for (int number = 1; number < 200; number++)
      assertEquals(number, settings.with(Map.of(PARTITIONS, "" + number)).numShufflePartitions());
  }

  @ParameterizedTest
  @CsvSource({
    "spark.ui.port, many",
    "spark.driver.memory, some",
    "spark.network.timeout, soon",
    "spark.kryo.unsafe, perhaps",
  })
  void invalidValueIsReportedWithItsSetting(String key, String value) {
    SparkConf conf = new SparkConf(false).set("spark.app.name", "x").set("spark.no.such", "y");
    StartupSettings.ensureValid(conf);
    conf.set(key, value);
    Exception failure =
        assertThrows(IllegalArgumentException.class, () -> StartupSettings.ensureValid(conf));
    assertTrue(failure.getMessage().contains(key), failure.getMessage());
  }

  @Test
  void oldestOfTheRecentEntriesIsRemoved() {
    RecentEntries<Integer> entries = new RecentEntries<>(2);
    for (String key : List.of("a", "b", "c")) entries.put(key, 1);
    assertEquals(List.of("b", "c"), List.copyOf(entries.keySet()));
  }
}
