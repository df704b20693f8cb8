package jpeer.members;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Objects that have a text. */
public class Texts {
  /** A constant with a body, and one that lies about itself. */
  public enum Mood {
    CALM,
    LOUD {
      @Override
      public String toString() {
        return "CALM";
      }
    };

    private static final Mood LOUDEST = LOUD;
  }

  /** A number of the application's own, whose methods must not be run. */
  public static class OwnInteger extends BigInteger {
    private static final long serialVersionUID = 1;
    public static int runs;

    public OwnInteger() {
      super("7");
    }

    @Override
    public String toString() {
      runs++;
      throw new IllegalStateException("toString");
    }

    @Override
    public String toString(int radix) {
      runs++;
      throw new IllegalStateException("toString");
    }

    @Override
    public BigInteger abs() {
      runs++;
      throw new IllegalStateException("abs");
    }

    @Override
    public int bitLength() {
      runs++;
      throw new IllegalStateException("bitLength");
    }
  }

  private static final LocalDateTime LATE = LocalDateTime.of(2024, 10, 27, 2, 30);
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

  /** Each behind the class that an argument of its text declares. */
  private static final Object[][] SAMPLES = {
    {Mood.class, Mood.CALM},
    {Mood.class, Mood.LOUD},
    {DayOfWeek.class, DayOfWeek.FRIDAY},
    {UUID.class, new UUID(0, 1)},
    {UUID.class, new UUID(-1, -1)},
    {BigInteger.class, BigInteger.ONE.shiftLeft(200).negate()},
    {BigInteger.class, BigInteger.ZERO},
    {BigDecimal.class, new BigDecimal("1E+3")},
    {BigDecimal.class, new BigDecimal("-0.000000000000000000001")},
    {BigDecimal.class, new BigDecimal("12345678901234567890.10")},
    {Duration.class, Duration.ZERO},
    {Duration.class, Duration.ofSeconds(-1, 500_000_000)},
    {Duration.class, Duration.ofSeconds(Long.MAX_VALUE, 999_999_999)},
    {Duration.class, Duration.ofSeconds(Long.MIN_VALUE)},
    {Instant.class, Instant.EPOCH},
    {Instant.class, Instant.MIN},
    {Instant.class, Instant.MAX},
    {LocalDate.class, LocalDate.of(2024, 2, 29)},
    {LocalDate.class, LocalDate.MIN},
    {LocalDate.class, LocalDate.MAX},
    {LocalDateTime.class, LATE},
    {LocalDateTime.class, LocalDateTime.MIN},
    {LocalDateTime.class, LocalDateTime.MAX},
    {LocalTime.class, LocalTime.MIDNIGHT},
    {LocalTime.class, LocalTime.MAX},
    {MonthDay.class, MonthDay.of(2, 29)},
    {OffsetDateTime.class, OffsetDateTime.MIN},
    {OffsetDateTime.class, OffsetDateTime.MAX},
    {OffsetTime.class, OffsetTime.MIN},
    {OffsetTime.class, OffsetTime.MAX},
    {Period.class, Period.ZERO},
    {Period.class, Period.of(-1, 2, -3)},
    {Year.class, Year.of(0)},
    {Year.class, Year.of(5)},
    {Year.class, Year.of(-5)},
    {Year.class, Year.of(2024)},
    {Year.class, Year.of(-2024)},
    {Year.class, Year.of(12345)},
    {Year.class, Year.of(-12345)},
    {Year.class, Year.of(Year.MAX_VALUE)},
    {Year.class, Year.of(Year.MIN_VALUE)},
    {YearMonth.class, YearMonth.of(5, 1)},
    {YearMonth.class, YearMonth.of(-5, 1)},
    {YearMonth.class, YearMonth.of(2024, 12)},
    {YearMonth.class, YearMonth.of(12345, 1)},
    {YearMonth.class, YearMonth.of(-12345, 1)},
    {ZoneId.class, BERLIN},
    {ZoneId.class, ZoneId.of("UTC+01:00")},
    {ZoneId.class, ZoneOffset.ofHoursMinutesSeconds(1, 2, 3)},
    {ZoneOffset.class, ZoneOffset.UTC},
    {ZoneOffset.class, ZoneOffset.MIN},
    {ZonedDateTime.class, ZonedDateTime.ofLocal(LATE, BERLIN, ZoneOffset.ofHours(1))},
    {ZonedDateTime.class, ZonedDateTime.ofLocal(LATE, BERLIN, ZoneOffset.ofHours(2))},
    {ZonedDateTime.class, ZonedDateTime.of(LATE, ZoneOffset.ofHours(-3))},
    {ZonedDateTime.class, ZonedDateTime.of(LATE, ZoneId.of("GMT"))},
  };

  public static int count() {
    return SAMPLES.length;
  }

  public static Object sample(int index) {
    return SAMPLES[index][1];
  }

  public static String type(int index) {
    return ((Class<?>) SAMPLES[index][0]).getName();
  }

  public static boolean isSample(int index, Object given) {
    return SAMPLES[index][1].equals(given);
  }

  public static BigInteger integer(int digits) {
    return BigInteger.TEN.pow(digits - 1);
  }

  public static BigDecimal decimal(String text) {
    return new BigDecimal(text);
  }

  public static BigInteger ownInteger() {
    return new OwnInteger();
  }

  public static int runs() {
    return OwnInteger.runs;
  }

  public static Optional<Object> optional(Object content) {
    return Optional.ofNullable(content);
  }

  public static Optional<Object> optionalOf(String what) {
    switch (what) {
      case "mood":
        return Optional.of(Mood.LOUD);
      case "object":
        return Optional.of(new Object());
      case "optional":
        return Optional.of(Optional.of(1));
      case "class":
        return Optional.of(String.class);
      case "list":
        return Optional.of(List.of(1));
      default:
        return Optional.empty();
    }
  }

  public static Map<String, Object> mixed() {
    return Map.of("moods", List.of(Mood.CALM, Optional.of(2), Optional.empty(), Year.of(5)));
  }

  public static Mood loudest() {
    return Mood.LOUDEST;
  }
}
