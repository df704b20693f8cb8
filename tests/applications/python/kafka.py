"""A Kafka broker, with a producer and consumers that Python controls. Serializers and listeners are written in
Python."""

import json
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

import jpeer

RECORDS = 500
DEADLINE = 60


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Broker:
    """One node on the loopback address, broker and controller."""

    def __init__(self, java, folder):
        broker, controller = free_ports(2)
        self.address = f"127.0.0.1:{broker}"
        settings = {
            "process.roles": "broker,controller", "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}", "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}", "log.dirs": f"{folder}/log",
            "offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false",
        }
        file = Path(folder, "server.properties")
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="ascii")
        cluster = str(java.org.apache.kafka.common.Uuid.randomUuid())
        status = java.kafka.tools.StorageTool.execute(["format", "-t", cluster, "-c", str(file)], java.java.lang.System.out)
        assert status == 0, status
        configuration = java.kafka.server.KafkaConfig(properties(java, settings))
        self.server = java.kafka.server.KafkaRaftServer(configuration, java.org.apache.kafka.common.utils.Time.SYSTEM)
        self.server.startup()

    def stop(self):
        self.server.shutdown()
        self.server.awaitShutdown()


def properties(java, settings):
    made = java.java.util.Properties()
    for name, value in settings.items():
        made[name] = value
    return made


@jpeer.implements("org.apache.kafka.common.serialization.Serializer", "org.apache.kafka.common.serialization.Deserializer")
class Json:
    """Kafka calls the overloads with headers, which are default methods that call these. Both interfaces have a default
    `close`, so that a class of both must define its own, as in Java."""

    def __init__(self):
        self.topics = set()
        self.closed = 0

    def serialize(self, topic, value):
        self.topics.add(topic)
        return json.dumps(value if isinstance(value, str) else jpeer.to_python(value)).encode()

    def deserialize(self, topic, data):
        if isinstance(data, str):
            raise TypeError("bytes wanted")
        return jpeer.cast("java.lang.String", json.dumps(json.loads(bytes(data))))

    def close(self):
        self.closed += 1


@jpeer.implements("org.apache.kafka.clients.producer.Callback")
class Acknowledged:
    def __init__(self):
        self.offsets = []
        self.done = threading.Event()

    def onCompletion(self, metadata, exception):
        self.offsets.append((metadata.partition(), metadata.offset(), exception))
        if len(self.offsets) == RECORDS:
            self.done.set()


@jpeer.implements("org.apache.kafka.clients.consumer.ConsumerRebalanceListener")
class Rebalanced:
    def __init__(self):
        self.assigned = []

    def onPartitionsAssigned(self, partitions):
        self.assigned += [each.partition() for each in partitions]

    def onPartitionsRevoked(self, partitions):
        pass


def produce(java, broker, codec):
    acknowledged = Acknowledged()
    Record = java.org.apache.kafka.clients.producer.ProducerRecord
    settings = {"bootstrap.servers": broker.address, "acks": "all", "linger.ms": "5"}
    with java.org.apache.kafka.clients.producer.KafkaProducer(properties(java, settings), codec, codec) as producer:
        for number in range(RECORDS):
            producer.send(Record("orders", f"key {number % 10}", {"number": number, "name": f"Größe {number}"}), acknowledged)
        producer.flush()
        assert acknowledged.done.wait(DEADLINE), f"{len(acknowledged.offsets)} of {RECORDS} were acknowledged"
    assert all(exception is None for _, _, exception in acknowledged.offsets)
    assert len({(partition, offset) for partition, offset, _ in acknowledged.offsets}) == RECORDS


def consume(java, broker, codec, found):
    """Runs on a Python thread: the consumer refuses calls while another thread is in a call."""
    settings = {"bootstrap.servers": broker.address, "group.id": "readers", "auto.offset.reset": "earliest",
                "enable.auto.commit": "false"}
    listener = Rebalanced()
    with java.org.apache.kafka.clients.consumer.KafkaConsumer(properties(java, settings), codec, codec) as consumer:
        consumer.subscribe(["orders"], listener)
        until = time.monotonic() + DEADLINE
        while len(found) < RECORDS and time.monotonic() < until:
            for record in consumer.poll(java.java.time.Duration.ofMillis(200)):
                found.append((json.loads(record.key()), json.loads(record.value()), record.partition(), record.offset()))
        consumer.commitSync()
        positions = {each.partition(): consumer.position(each) for each in consumer.assignment()}
    assert sorted(listener.assigned) == [0, 1, 2], listener.assigned
    assert sum(positions.values()) == RECORDS, positions


def is_refused_elsewhere(java, broker, codec):
    """While one thread polls, a call of another thread raises Kafka's exception in Python."""
    settings = {"bootstrap.servers": broker.address, "group.id": "owners"}
    consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(properties(java, settings), codec, codec)
    consumer.subscribe(["orders"])
    woken = []

    def poll():
        while not woken:
            try:
                consumer.poll(java.java.time.Duration.ofSeconds(DEADLINE))
            except java.java.util.ConcurrentModificationException:
                pass  # the other thread was in a call
            except java.org.apache.kafka.common.errors.WakeupException as error:
                woken.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    until, refused = time.monotonic() + DEADLINE, None
    while refused is None and time.monotonic() < until:
        try:
            consumer.assignment()
        except java.java.util.ConcurrentModificationException as error:
            refused = str(error)
    consumer.wakeup()
    thread.join(DEADLINE)
    consumer.close()
    assert len(woken) == 1, woken
    return refused is not None and "not safe for multi-threaded access" in refused


def check(java, folder):
    broker = Broker(java, folder)
    codec = Json()
    with java.org.apache.kafka.clients.admin.Admin.create({"bootstrap.servers": broker.address}) as admin:
        topic = java.org.apache.kafka.clients.admin.NewTopic("orders", 3, jpeer.jshort(1))
        admin.createTopics([topic]).all().get(DEADLINE, java.java.util.concurrent.TimeUnit.SECONDS)
        assert sorted(admin.listTopics().names().get()) == ["orders"]
    produce(java, broker, codec)
    found, failures = [], []

    def run():
        try:
            consume(java, broker, codec, found)
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=run, name="reader")
    reader.start()
    reader.join(2 * DEADLINE)
    assert not failures, failures
    assert sorted(value["number"] for _, value, _, _ in found) == list(range(RECORDS)), len(found)
    assert all(key == f"key {value['number'] % 10}" and value["name"] == f"Größe {value['number']}" for key, value, _, _ in found)
    for partition in range(3):
        ordered = [offset for _, _, place, offset in found if place == partition]
        assert ordered == list(range(len(ordered)))
    assert is_refused_elsewhere(java, broker, codec), "the consumer let a second thread in"
    assert codec.topics == {"orders"} and codec.closed == 6, codec.closed
    broker.stop()


with tempfile.TemporaryDirectory(prefix="jpeer-kafka-") as folder, \
        jpeer.launch(classpath=os.environ["JARS"], jvm_options=["-Xmx512m"]) as java:
    check(java, folder)
    version = java.org.apache.kafka.common.utils.internals.AppInfoParser.getVersion()
    print(f"Kafka {version}: {RECORDS} records through a broker, written and read by Python's serializers, one thread a consumer")
