package com.example;

/** The class of the reference's examples. */
public class Calculator {
  public int result;

  public static int add(int a, int b) {
    return a + b;
  }

  public static int divide(int a, int b) {
    return a / b;
  }

  public int accumulate(int amount) {
    result += amount;
    return result;
  }

  public Calculator self() {
    return this;
  }

  public void clear() {
    result = 0;
  }

  public static Calculator create() {
    return new Calculator();
  }

  public String lastError() {
    return null;
  }
}
