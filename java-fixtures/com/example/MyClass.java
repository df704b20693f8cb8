package com.example;

/** The class of the reference's metadata example. */
public class MyClass {
  protected String label;

  public String getLabel() {
    return label;
  }
}
