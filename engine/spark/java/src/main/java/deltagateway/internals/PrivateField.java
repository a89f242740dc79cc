package deltagateway.internals;

import java.lang.reflect.Field;

/**
 * A field that Spark keeps for itself: what is done with it is done otherwise, or not at all, where
 * it is not there.
 */
public final class PrivateField {
  private PrivateField() {}

  /** Null where the class has none of that name. */
  public static Field of(Class<?> owner, String name) {
    try {
      Field found = owner.getDeclaredField(name);
      found.setAccessible(true);
      return found;
    } catch (NoSuchFieldException absent) {
      return null;
    }
  }
}
