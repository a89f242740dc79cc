package deltagateway.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import deltagateway.protocol.RejectionException;
import java.util.stream.Stream;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Schemas and filters under the names of a table's files. */
class PhysicalColumnsTest {
  private static final StructType LOGICAL =
      StructType.fromDDL(
          "id INT, name STRING, d DOUBLE, s STRUCT<x: INT, `a.b`: FLOAT>,"
              + " l ARRAY<STRUCT<x: INT>>, m MAP<STRUCT<k: INT>, STRUCT<v: INT>>");
  private static final StructType PHYSICAL =
      StructType.fromDDL(
          "`c-1` INT, c2 STRING, c3 DOUBLE, c4 STRUCT<c5: INT, c6: FLOAT>,"
              + " c7 ARRAY<STRUCT<c8: INT>>, c9 MAP<STRUCT<c10: INT>, STRUCT<c11: INT>>");
  private static final StructType NO_CONSTANTS = new StructType();
  private static final PhysicalColumns COLUMNS = new PhysicalColumns(LOGICAL, PHYSICAL);

  static Stream<Arguments> translatedFilters() {
    Object[] values = {1, 2};
    return Stream.of(
            new Filter[] {new EqualTo("name", "a"), new EqualTo("c2", "a")},
            new Filter[] {new EqualNullSafe("name", null), new EqualNullSafe("c2", null)},
            new Filter[] {new GreaterThan("id", 1), new GreaterThan("`c-1`", 1)},
            new Filter[] {new GreaterThanOrEqual("id", 1), new GreaterThanOrEqual("`c-1`", 1)},
            new Filter[] {new LessThan("id", 1), new LessThan("`c-1`", 1)},
            new Filter[] {new LessThanOrEqual("id", 1), new LessThanOrEqual("`c-1`", 1)},
            new Filter[] {new In("id", values), new In("`c-1`", values)},
            new Filter[] {new IsNull("s.x"), new IsNull("c4.c5")},
            new Filter[] {new IsNotNull("s.`a.b`"), new IsNotNull("c4.c6")},
            new Filter[] {new StringStartsWith("name", "a"), new StringStartsWith("c2", "a")},
            new Filter[] {new StringEndsWith("name", "a"), new StringEndsWith("c2", "a")},
            new Filter[] {new StringContains("name", "a"), new StringContains("c2", "a")},
            new Filter[] {new Not(new EqualTo("id", 1)), new Not(new EqualTo("`c-1`", 1))},
            new Filter[] {
              new Or(new IsNull("id"), new And(new IsNotNull("name"), new EqualTo("s.x", 3))),
              new Or(new IsNull("`c-1`"), new And(new IsNotNull("c2"), new EqualTo("c4.c5", 3)))
            })
        .map(pair -> Arguments.of(pair[0], pair[1]));
  }

  @ParameterizedTest
  @MethodSource("translatedFilters")
  void filterIsTranslated(Filter logical, Filter physical) {
    assertEquals(physical, COLUMNS.of(logical, NO_CONSTANTS, false));
  }

  static Stream<Filter> untranslatedFilters() {
    return Stream.of(
        new EqualTo("missing", 1),
        new EqualTo("s.missing", 1),
        new EqualTo("id.x", 1),
        new AlwaysTrue(),
        new And(new EqualTo("id", 1), new EqualTo("missing", 1)),
        new Or(new EqualTo("missing", 1), new EqualTo("id", 1)),
        new Not(new EqualTo("missing", 1)));
  }

  @ParameterizedTest
  @MethodSource("untranslatedFilters")
  void filterOnAnUnknownColumnIsNotPushed(Filter filter) {
    assertNull(COLUMNS.of(filter, NO_CONSTANTS, false));
  }

  @Test
  void filterOnAConstantIsNotPushed() {
    StructType constants = StructType.fromDDL("id INT");
    assertNull(COLUMNS.of(new EqualTo("id", 1), constants, false));
    assertEquals(new EqualTo("c2", "a"), COLUMNS.of(new EqualTo("name", "a"), constants, false));
  }

  static Stream<Arguments> floatingPointFilters() {
    return Stream.of(
        Arguments.of(new EqualTo("d", 1.5), true),
        Arguments.of(new EqualTo("d", 0.0), false),
        Arguments.of(new EqualTo("d", -0.0), false),
        Arguments.of(new EqualTo("d", Double.NaN), false),
        Arguments.of(new EqualNullSafe("d", null), true),
        Arguments.of(new EqualNullSafe("d", Double.NaN), false),
        Arguments.of(new LessThan("d", 1.5), true),
        Arguments.of(new LessThan("d", 0.0), false),
        Arguments.of(new LessThanOrEqual("d", 1.5), true),
        Arguments.of(new LessThanOrEqual("d", Double.NaN), false),
        Arguments.of(new GreaterThan("d", 1.5), false),
        Arguments.of(new GreaterThanOrEqual("d", 1.5), false),
        Arguments.of(new In("d", new Object[] {1.5, 2.5}), true),
        Arguments.of(new In("d", new Object[] {1.5, Double.NaN}), false),
        Arguments.of(new IsNull("d"), true),
        Arguments.of(new IsNotNull("d"), true),
        Arguments.of(new Not(new IsNull("d")), true),
        Arguments.of(new Not(new EqualTo("d", 1.5)), false),
        Arguments.of(new Not(new LessThan("s.`a.b`", 1.5f)), false),
        Arguments.of(new LessThan("s.`a.b`", 1.5f), true));
  }

  @ParameterizedTest
  @MethodSource("floatingPointFilters")
  void filterThatMayMatchNanOrZeroIsNotPushed(Filter filter, boolean isPushed) {
    assertEquals(isPushed, COLUMNS.of(filter, NO_CONSTANTS, false) != null);
  }

  @Test
  void filterByFieldIdNeedsAUniqueName() {
    StructField named =
        new StructField(
            "c",
            LOGICAL.fields()[0].dataType(),
            true,
            new MetadataBuilder().putString("gateway.pushed.name", "old id").build());
    PhysicalColumns columns =
        new PhysicalColumns(
            StructType.fromDDL("id INT, other INT"),
            new StructType(new StructField[] {named, PHYSICAL.fields()[0]}));
    assertEquals(new EqualTo("`old id`", 1), columns.of(new EqualTo("id", 1), NO_CONSTANTS, true));
    assertNull(columns.of(new EqualTo("other", 1), NO_CONSTANTS, true));
    assertNull(COLUMNS.of(new IsNull("s.x"), NO_CONSTANTS, true));
  }

  @Test
  void prunedSchemaHasPhysicalNamesAtAnyDepth() {
    assertEquals(PHYSICAL, COLUMNS.of(LOGICAL));
    assertEquals(
        StructType.fromDDL("c9 MAP<STRUCT<c10: INT>, STRUCT<c11: INT>>, c4 STRUCT<c6: FLOAT>"),
        COLUMNS.of(
            StructType.fromDDL("m MAP<STRUCT<k: INT>, STRUCT<v: INT>>, s STRUCT<`a.b`: FLOAT>")));
    assertEquals(
        StructType.fromDDL("_row_index BIGINT"),
        COLUMNS.of(StructType.fromDDL("_row_index BIGINT")));
  }

  @Test
  void columnThatMustNotBeReadIsRejected() {
    StructField unread =
        new StructField(
            "c",
            LOGICAL.fields()[0].dataType(),
            true,
            new MetadataBuilder().putString("gateway.unread", "id: geometry").build());
    PhysicalColumns columns =
        new PhysicalColumns(
            StructType.fromDDL("id INT, name INT"),
            new StructType(new StructField[] {unread, PHYSICAL.fields()[0]}));
    assertEquals(
        StructType.fromDDL("`c-1` INT"), columns.read(StructType.fromDDL("name INT"), "t"));
    RejectionException rejection =
        assertThrows(
            RejectionException.class, () -> columns.read(StructType.fromDDL("id INT"), "t"));
    assertEquals("column of files", rejection.kind());
    assertEquals("t\nid: geometry", rejection.subject());
  }
}
