"""tables.py URL ROUNDS CREATE QUERY: reads a query of H2 in the peer with java.table. Prints a line of JSON: the ms of
each round into Arrow and into pandas, and the number of rows."""

import json
import sys
import time

import jpeer


def main(url, rounds, create, query):
    times = {"arrow": [], "pandas": []}
    with jpeer.connect(url) as java:
        connection = java.java.sql.DriverManager.getConnection("jdbc:h2:mem:bench;OPTIMIZE_REUSE_RESULTS=0")
        statement = connection.createStatement()
        statement.execute(create)
        for _ in range(int(rounds)):
            for name, found in times.items():
                began = time.perf_counter()
                results = statement.executeQuery(query)
                table = java.table(results)
                made = table.to_arrow() if name == "arrow" else table.to_pandas()
                found.append((time.perf_counter() - began) * 1e3)
                results.close()
        print(json.dumps({**times, "rows": len(made)}))
        connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
