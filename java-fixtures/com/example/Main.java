package com.example;

/** An application that says hello and stays. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws InterruptedException {
    System.out.println("example running");
    Thread.sleep(Long.MAX_VALUE);
  }
}
