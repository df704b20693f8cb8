package com.example;

/** The class of the objects in the examples of docs/callbacks.md. */
public class User {
  public String name;
  public String nickname = "nick";
  private final int age;

  public User(String name, int age) {
    this.name = name;
    this.age = age;
  }

  public int getAge() {
    return age;
  }
}
