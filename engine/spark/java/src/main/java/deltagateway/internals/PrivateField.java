package deltagateway.internals;

import java.lang.reflect.Field;

/**
 * Access to a private field of a class of Spark or its libraries. A caller has another way, or does
 * without, if a later version has no such field.
 */
public final class PrivateField {
  private PrivateField() {}

  /** Returns the field; null if the class has none of this name. */
  public static Field of(Class<?> owner, String name) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException absent) {
      return null;
    }
  }
}
