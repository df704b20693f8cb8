package demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import org.springframework.stereotype.Component;

/** A bean that needs classes of other jars inside the jar. */
@Component
public class Greeter {
  private final ObjectMapper mapper;

  Greeter(ObjectMapper mapper) {
    this.mapper = mapper;
  }

  public String greet(String whom) throws JsonProcessingException {
    return mapper.writeValueAsString(Map.of("hello", whom));
  }
}
