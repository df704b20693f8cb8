package kept;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.api.java.UDF1;

/** A function that remains in this JVM: Spark serializes only its name, because an object of Python cannot
 * be serialized. */
public final class KeptFunction implements UDF1<Object, Object> {
  private static final Map<String, UDF1<Object, Object>> FUNCTIONS = new ConcurrentHashMap<>();
  private final String name;

  public KeptFunction(String name, UDF1<Object, Object> function) {
    this.name = name;
    FUNCTIONS.put(name, function);
  }

  @Override
  public Object call(Object value) throws Exception {
    return FUNCTIONS.get(name).call(value);
  }
}
