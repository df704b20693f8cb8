package com.example;

/** The objects of the reference's examples. */
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
