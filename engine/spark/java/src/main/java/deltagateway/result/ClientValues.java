package deltagateway.result;

import deltagateway.protocol.RejectionException;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.IntervalStringStyles$;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.GeographyType;
import org.apache.spark.sql.types.GeometryType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Converts values that Arrow clients cannot read to strings, at any depth: year-month intervals as
 * Hive writes them (`1-2`), calendar intervals as Spark does, variants as JSON. Map keys of type
 * void, of which there are none, become strings too. Rows without such values stay as they are.
 */
abstract class ClientValues {
  /** Returns the type of converted values. */
  abstract DataType type();

  abstract Object convert(Object value);

  /** Returns null if values of `type` stay as they are. */
  static ClientValues of(DataType type, ZoneId zone) {
    if (type instanceof YearMonthIntervalType interval)
      return new Text(
          months ->
              IntervalUtils$.MODULE$.toYearMonthIntervalString(
                  (Integer) months,
                  IntervalStringStyles$.MODULE$.HIVE_STYLE(),
                  interval.startField(),
                  interval.endField()));
    if (type instanceof CalendarIntervalType) return new Text(Object::toString);
    if (type instanceof VariantType) return new Text(value -> ((VariantVal) value).toJson(zone));
    if (type instanceof ArrayType array) {
      ClientValues element = of(array.elementType(), zone);
      return element == null ? null : new Items(array, element);
    }
    if (type instanceof MapType map) return entries(map, zone);
    if (type instanceof StructType struct) {
      ClientValues[] converters =
          Arrays.stream(struct.fields())
              .map(field -> of(field.dataType(), zone))
              .toArray(ClientValues[]::new);
      return Arrays.stream(converters).allMatch(Objects::isNull)
          ? null
          : new Fields(struct.fields(), converters);
    }
    if (type instanceof GeometryType || type instanceof GeographyType)
      throw new RejectionException("type", type.sql());
    return null;
  }

  static Iterator<InternalRow> rows(Iterator<InternalRow> rows, ClientValues converter) {
    if (converter == null) return rows;
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        return (InternalRow) converter.convert(rows.next());
      }
    };
  }

  private static ClientValues entries(MapType type, ZoneId zone) {
    ClientValues key = of(type.keyType(), zone);
    ClientValues value = of(type.valueType(), zone);
    if (type.keyType() instanceof NullType) return new NoEntries(type, value);
    if (key == null && value == null) return null;
    return new Entries(
        new Items(new ArrayType(type.keyType(), false), key),
        new Items(new ArrayType(type.valueType(), true), value));
  }

  /** Maps with keys of type void are empty, as a key is never null; Arrow has no such keys. */
  private static final class NoEntries extends ClientValues {
    private final MapType type;

    NoEntries(MapType type, ClientValues value) {
      DataType converted = value == null ? type.valueType() : value.type();
      this.type = new MapType(StringType$.MODULE$, converted, type.valueContainsNull());
    }

    @Override
    DataType type() {
      return type;
    }

    @Override
    Object convert(Object value) {
      return value;
    }
  }

  private static final class Text extends ClientValues {
    private final Function<Object, String> text;

    Text(Function<Object, String> text) {
      this.text = text;
    }

    @Override
    DataType type() {
      return StringType$.MODULE$;
    }

    @Override
    Object convert(Object value) {
      return UTF8String.fromString(text.apply(value));
    }
  }

  private static final class Items extends ClientValues {
    private final ArrayType source;
    private final ClientValues element;

    /** `element` is null if elements stay as they are. */
    Items(ArrayType source, ClientValues element) {
      this.source = source;
      this.element = element;
    }

    @Override
    ArrayType type() {
      DataType converted = element == null ? source.elementType() : element.type();
      return new ArrayType(converted, source.containsNull());
    }

    @Override
    ArrayData convert(Object value) {
      ArrayData array = (ArrayData) value;
      if (element == null) return array;
      Object[] items = new Object[array.numElements()];
      for (int i = 0; i < items.length; i++) {
        if (!array.isNullAt(i)) items[i] = element.convert(array.get(i, source.elementType()));
      }
      return new GenericArrayData(items);
    }
  }

  private static final class Entries extends ClientValues {
    private final Items keys;
    private final Items values;

    Entries(Items keys, Items values) {
      this.keys = keys;
      this.values = values;
    }

    @Override
    DataType type() {
      return new MapType(keys.type().elementType(), values.type().elementType(), true);
    }

    @Override
    Object convert(Object value) {
      MapData map = (MapData) value;
      return new ArrayBasedMapData(keys.convert(map.keyArray()), values.convert(map.valueArray()));
    }
  }

  private static final class Fields extends ClientValues {
    private final StructField[] source;
    private final ClientValues[] converters;

    Fields(StructField[] source, ClientValues[] converters) {
      this.source = source;
      this.converters = converters;
    }

    @Override
    DataType type() {
      StructField[] fields = new StructField[source.length];
      for (int i = 0; i < fields.length; i++) {
        DataType type = converters[i] == null ? source[i].dataType() : converters[i].type();
        fields[i] =
            new StructField(source[i].name(), type, source[i].nullable(), source[i].metadata());
      }
      return new StructType(fields);
    }

    @Override
    Object convert(Object value) {
      InternalRow row = (InternalRow) value;
      Object[] values = new Object[source.length];
      for (int i = 0; i < values.length; i++) {
        if (row.isNullAt(i)) continue;
        Object field = row.get(i, source[i].dataType());
        values[i] = converters[i] == null ? field : converters[i].convert(field);
      }
      return new GenericInternalRow(values);
    }
  }
}
