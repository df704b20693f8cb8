import sys
import jpeer

# Start Java with H2, a database, on its class path. This program may use these classes of Java, and no others.
java = jpeer.launch(sys.argv[1], allow=["jdk:java.sql.*", "java.util.ArrayList", "java.util.Comparator"])

# Connect, create a table and fill it.
database = java.java.sql.DriverManager.getConnection("jdbc:h2:mem:demo")
statement = database.createStatement()
statement.execute("create table planet (name varchar primary key, moons int)")
insert = database.prepareStatement("insert into planet values (?, ?)")
for name, moons in [("Mars", 2), ("Earth", 1), ("Sätürn 🪐", 146)]:
    insert.setString(1, name)
    insert.setInt(2, moons)
    insert.executeUpdate()

# Query the rows.
planets = []
result = statement.executeQuery("select name, moons from planet order by moons")
while result.next():
    planets.append((result.getString("name"), result.getInt("moons")))
print(planets)

# An exception of Java is an exception of Python.
try:
    statement.execute("select * from nowhere")
except java.java.sql.SQLException as error:
    print(error.getSQLState(), str(error).splitlines()[0])

# A lambda is a Java object: here Java's sort calls it.
names = java.java.util.ArrayList(name for name, moons in planets)
names.sort(lambda a, b: len(b) - len(a))
print(names)

# The policy denies everything else.
try:
    java.java.lang.System.exit(1)
except PermissionError as error:
    print(error)
java.close()
