import com.example.Calculator;
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** An MBean of the calculator, for Jolokia's agent, which the command line starts. */
public final class JolokiaServer {
  private JolokiaServer() {}

  /** The operations for Jolokia. */
  public interface Operations {
    int add(int a, int b);
  }

  public static void main(String[] arguments) throws Exception {
    Operations operations = Calculator::add;
    ManagementFactory.getPlatformMBeanServer()
        .registerMBean(new StandardMBean(operations, Operations.class), new ObjectName("bench:type=Calculator"));
    // The agent starts in parallel and sets its address here.
    while (System.getProperty("jolokia.agent") == null) {
      Thread.sleep(10);
    }
    Serving.until(System.getProperty("jolokia.agent"), operations);
  }
}
