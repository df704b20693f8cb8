package com.example;

/** What the reference's metadata example asks for. */
public class MyClass {
  protected String label;

  public String getLabel() {
    return label;
  }
}
