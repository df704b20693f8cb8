package beyond.dep;

/** Inside the fixtures' jar it is in a jar of its own, helper.bundle; Bean is in bean.bundle. */
public class Helper {
  public String help(String whom) {
    return "helped " + whom;
  }
}
