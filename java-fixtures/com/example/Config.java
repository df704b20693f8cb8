package com.example;

/** The static fields of the reference's examples. */
public final class Config {
  public static final String VERSION = "1.4.2";
  public static boolean debugMode;

  private Config() {}
}
