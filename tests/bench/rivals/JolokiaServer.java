import com.example.Calculator;
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** An MBean of the calculator, behind Jolokia's agent, which the command line brought in. */
public final class JolokiaServer {
  private JolokiaServer() {}

  /** What Jolokia may call. */
  public interface CalculatorOperations {
    int add(int a, int b);
  }

  public static void main(String[] arguments) throws Exception {
    CalculatorOperations operations = Calculator::add;
    ManagementFactory.getPlatformMBeanServer()
        .registerMBean(new StandardMBean(operations, CalculatorOperations.class), new ObjectName("bench:type=Calculator"));
    // The agent's own word for where it listens.
    Serving.until(System.getProperty("jolokia.agent"));
  }
}
