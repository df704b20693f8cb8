package bank;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Version;

/** An entity of Hibernate. */
@Entity
public class Account {
  @Id private Long id;
  @Version private long version;
  private long balance;

  protected Account() {}

  public Account(Long id, long balance) {
    this.id = id;
    this.balance = balance;
  }

  public Long getId() {
    return id;
  }

  public long getBalance() {
    return balance;
  }

  public long getVersion() {
    return version;
  }

  public void deposit(long amount) {
    balance += amount;
  }
}
