package com.example;

/** What the reference's examples construct, read and write. */
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
