package beyond.dep;

/** In a jar of its own, inside the jar. */
public class Helper {
  public String help(String whom) {
    return "helped " + whom;
  }
}
