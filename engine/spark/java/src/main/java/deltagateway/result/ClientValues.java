package deltagateway.result;

import deltagateway.protocol.RejectionException;
import java.time.ZoneId;
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

/**
 * Turns values that Arrow clients cannot read into text, at any depth: intervals of months as Hive
 * writes them (`1-2`), calendar intervals as Spark does, variants as JSON. Keys of type void, of
 * which there are none, become strings too. Rows without such values pass as they are.
 */
public abstract class ClientValues {
  abstract DataType type();

  abstract Object convert(Object value);

  /** Null where values of `type` pass as they are. */
  static ClientValues of(DataType type, ZoneId zone) {
    if (type instanceof YearMonthIntervalType) return new Months((YearMonthIntervalType) type);
    if (type instanceof CalendarIntervalType) return new Calendar();
    if (type instanceof VariantType) return new Variant(zone);
    if (type instanceof ArrayType) return items((ArrayType) type, zone);
    if (type instanceof MapType) return entries((MapType) type, zone);
    if (type instanceof StructType) return fields((StructType) type, zone);
    if (type instanceof GeometryType || type instanceof GeographyType)
      throw new RejectionException("type", type.sql());
    return null;
  }

  static scala.collection.Iterator<InternalRow> rows(
      final scala.collection.Iterator<InternalRow> rows, final ClientValues converter) {
    if (converter == null) return rows;
    return new scala.collection.AbstractIterator() {
      public boolean hasNext() {
        return rows.hasNext();
      }

      public Object next() {
        return converter.convert(rows.next());
      }
    };
  }

  private static ClientValues items(ArrayType type, ZoneId zone) {
    ClientValues element = of(type.elementType(), zone);
    return element == null ? null : new Items(type, element);
  }

  private static ClientValues entries(MapType type, ZoneId zone) {
    if (type.keyType() instanceof NullType) return new NoEntries(type, of(type.valueType(), zone));
    Items keys = new Items(new ArrayType(type.keyType(), false), of(type.keyType(), zone));
    Items values = new Items(new ArrayType(type.valueType(), true), of(type.valueType(), zone));
    return keys.element == null && values.element == null ? null : new Entries(keys, values);
  }

  private static ClientValues fields(StructType type, ZoneId zone) {
    ClientValues[] converters = new ClientValues[type.length()];
    boolean any = false;
    for (int i = 0; i < converters.length; i++) {
      converters[i] = of(type.fields()[i].dataType(), zone);
      any |= converters[i] != null;
    }
    return any ? new Fields(type, converters) : null;
  }

  /** Maps whose keys are of type void are empty, as a key is never null; Arrow has no such keys. */
  private static final class NoEntries extends ClientValues {
    private final MapType type;

    NoEntries(MapType type, ClientValues value) {
      DataType converted = value == null ? type.valueType() : value.type();
      this.type = new MapType(StringType$.MODULE$, converted, type.valueContainsNull());
    }

    DataType type() {
      return type;
    }

    Object convert(Object value) {
      return value;
    }
  }

  private abstract static class Text extends ClientValues {
    DataType type() {
      return StringType$.MODULE$;
    }

    Object convert(Object value) {
      return UTF8String.fromString(text(value));
    }

    abstract String text(Object value);
  }

  private static final class Months extends Text {
    private final YearMonthIntervalType type;

    Months(YearMonthIntervalType type) {
      this.type = type;
    }

    String text(Object value) {
      return IntervalUtils$.MODULE$.toYearMonthIntervalString(
          ((Integer) value).intValue(),
          IntervalStringStyles$.MODULE$.HIVE_STYLE(),
          type.startField(),
          type.endField());
    }
  }

  private static final class Calendar extends Text {
    String text(Object value) {
      return value.toString();
    }
  }

  private static final class Variant extends Text {
    private final ZoneId zone;

    Variant(ZoneId zone) {
      this.zone = zone;
    }

    String text(Object value) {
      return ((VariantVal) value).toJson(zone);
    }
  }

  private static final class Items extends ClientValues {
    private final ArrayType source;
    final ClientValues element;

    Items(ArrayType source, ClientValues element) {
      this.source = source;
      this.element = element;
    }

    DataType type() {
      DataType converted = element == null ? source.elementType() : element.type();
      return new ArrayType(converted, source.containsNull());
    }

    Object convert(Object value) {
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

    DataType type() {
      return new MapType(
          ((ArrayType) keys.type()).elementType(), ((ArrayType) values.type()).elementType(), true);
    }

    Object convert(Object value) {
      MapData map = (MapData) value;
      return new ArrayBasedMapData(
          (ArrayData) keys.convert(map.keyArray()), (ArrayData) values.convert(map.valueArray()));
    }
  }

  private static final class Fields extends ClientValues {
    private final StructField[] source;
    private final ClientValues[] converters;

    Fields(StructType source, ClientValues[] converters) {
      this.source = source.fields();
      this.converters = converters;
    }

    DataType type() {
      StructField[] fields = new StructField[source.length];
      for (int i = 0; i < fields.length; i++) {
        DataType type = converters[i] == null ? source[i].dataType() : converters[i].type();
        fields[i] =
            new StructField(source[i].name(), type, source[i].nullable(), source[i].metadata());
      }
      return new StructType(fields);
    }

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
