package demo;

import java.lang.management.ManagementFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Shows its arguments and properties. */
@SpringBootApplication
@RestController
public class Application {
  public static volatile ApplicationContext context;

  public static void main(String[] args) {
    context = SpringApplication.run(Application.class, args);
  }

  public static boolean hasMainReturned() {
    return Thread.getAllStackTraces().keySet().stream().noneMatch(thread -> thread.getName().equals("main"));
  }

  @GetMapping("/started")
  public String started() {
    return "who=" + System.getProperty("who") + " agent=" + System.getProperty("agent.saw") + " arguments="
        + ManagementFactory.getRuntimeMXBean().getInputArguments();
  }
}
