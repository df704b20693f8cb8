"""A topology of Kafka Streams whose steps are Python functions, run by the TopologyTestDriver."""

import os

import jpeer

with jpeer.launch(classpath=os.environ["JARS"]) as java:
    kafka = java.org.apache.kafka
    streams = kafka.streams
    Serdes = kafka.common.serialization.Serdes
    text = Serdes.String()

    builder = streams.StreamsBuilder()
    lines = builder.stream("lines", streams.kstream.Consumed.with_(text, text))
    words = lines.flatMapValues(lambda line: line.lower().split())
    words.filter(lambda key, word: word.isalpha()).mapValues(lambda word: word[::-1]).to("backwards")
    in_memory = streams.kstream.Materialized.as_(streams.state.Stores.inMemoryKeyValueStore("counts"))
    by_word = words.groupBy(lambda key, word: word, streams.kstream.Grouped.with_(text, text))
    by_word.count(in_memory).toStream().to("counts", streams.kstream.Produced.with_(text, Serdes.Long()))

    settings = java.java.util.Properties()
    settings["application.id"] = "words"
    settings["bootstrap.servers"] = "nowhere:9092"
    settings["default.key.serde"] = settings["default.value.serde"] = text.getClass().getName()
    with streams.TopologyTestDriver(builder.build(), settings) as driver:
        lines_in = driver.createInputTopic("lines", text.serializer(), text.serializer())
        backwards = driver.createOutputTopic("backwards", text.deserializer(), text.deserializer())
        counts = driver.createOutputTopic("counts", text.deserializer(), Serdes.Long().deserializer())
        lines_in.pipeInput("1", "To be or not 2 be")
        lines_in.pipeInput("2", "to Be")
        assert list(backwards.readValuesToList()) == ["ot", "eb", "ro", "ton", "eb", "ot", "eb"]
        assert dict(counts.readKeyValuesToMap()) == {"to": 2, "be": 3, "or": 1, "not": 1, "2": 1}
    print("the topology ran")
