"""Hibernate from Python: `getCurrentSession`, which returns the session of the calling thread, on one thread
and on four threads at the same time."""

import asyncio
import os
import threading

import jpeer
from jpeer import aio

ROUNDS = 50
SETTINGS = {
    "hibernate.connection.url": "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=10000",
    "hibernate.connection.driver_class": "org.h2.Driver",
    "hibernate.connection.pool_size": "5",
    "hibernate.hbm2ddl.auto": "create",
    "hibernate.current_session_context_class": "thread",
}


class Bank:
    def __init__(self, java):
        configuration = java.org.hibernate.cfg.Configuration()
        for name, value in SETTINGS.items():
            configuration.setProperty(name, value)
        self.java = java
        self.Account = java.bank.Account
        self.factory = configuration.addAnnotatedClass(self.Account).buildSessionFactory()

    def transact(self, change):
        """Each step asks for the current session again, as separate parts of a program do."""
        self.factory.getCurrentSession().beginTransaction()
        try:
            result = change(self.factory.getCurrentSession())
            self.factory.getCurrentSession().getTransaction().commit()
            return result
        except BaseException:
            self.factory.getCurrentSession().getTransaction().rollback()
            raise

    def deposit(self, number, amount):
        def change(session):
            account = session.find(self.Account, number)
            if account is None:
                session.persist(self.Account(number, amount))
            else:
                account.deposit(amount)
        self.transact(change)

    def balances(self):
        def read(session):
            found = session.createQuery("from Account order by id", self.Account).getResultList()
            return {account.getId(): account.getBalance() for account in found}
        return self.transact(read)


def refuse(bank):
    """A failed transaction is rolled back, and the next transaction of the thread works."""
    def change(session):
        session.find(bank.Account, 1).deposit(1000)
        session.persist(bank.Account(1, 5))
    try:
        bank.transact(change)
    except bank.java.jakarta.persistence.EntityExistsException as error:
        assert "bank.Account" in str(error), error
    else:
        raise AssertionError("there is such an account")


async def use_tasks(url, numbers):
    """Each asyncio task has a Java thread of its own for its transaction."""
    async with aio.connect(url) as there:
        properties = await there.java.lang.System.getProperties()
        factory = await properties.get("factory")
        Account = there.bank.Account

        async def deposit(number):
            async with there.thread(f"task {number}"):
                for _ in range(ROUNDS):
                    session = await factory.getCurrentSession()
                    transaction = await session.beginTransaction()
                    account = await session.find(Account, number)
                    await account.deposit(1000)
                    assert await factory.getCurrentSession() == session
                    await transaction.commit()

        await asyncio.wait_for(asyncio.gather(*map(deposit, numbers)), 60)


with jpeer.launch(classpath=os.environ["JARS"], jvm_options=["-Xmx256m"]) as java:
    java.java.util.logging.Logger.getLogger("org.hibernate").setLevel(java.java.util.logging.Level.SEVERE)
    bank = Bank(java)
    for _ in range(ROUNDS):
        bank.deposit(1, 2)
    assert bank.balances() == {1: 2 * ROUNDS}
    refuse(bank)
    assert bank.balances() == {1: 2 * ROUNDS}

    failures, together = [], threading.Barrier(4)

    def run(number):
        try:
            together.wait(60)
            for _ in range(ROUNDS):
                bank.deposit(number, number)
        except Exception as error:
            failures.append((number, repr(error)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2, 6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures, failures
    assert bank.balances() == {1: 2 * ROUNDS, **{number: number * ROUNDS for number in range(2, 6)}}

    java.java.lang.System.getProperties().put("factory", bank.factory)
    asyncio.run(use_tasks(java.url, range(2, 6)))
    assert bank.balances() == {1: 2 * ROUNDS, **{number: (number + 1000) * ROUNDS for number in range(2, 6)}}
    bank.factory.close()
    print(f"Hibernate {java.org.hibernate.Version.getVersionString()}: {ROUNDS} transactions in one thread, "
          f"{4 * ROUNDS} in four, {4 * ROUNDS} in four tasks of asyncio")
