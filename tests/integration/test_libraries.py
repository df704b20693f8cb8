"""Libraries that nobody here wrote, scripted over WebSocket and ZeroMQ."""

import subprocess

from support.clients import WebSocketClient, ZmqClient, typed
from support.peer import ROOT
from support.peer_case import PeerCase

LANG = "org.apache.commons:commons-lang3:3.14.0"
MATH = "org.apache.commons:commons-math3:3.6.1"


def jar_of(coordinates):
    done = subprocess.run([ROOT / "tools/fetch-jar", coordinates], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


class Libraries(PeerCase):
    options = (*("--rpc-policy-preset", "deny-unsafe,deny-nonpublic"),)
    peer_arguments = {"class_path": f"{jar_of(LANG)}:{jar_of(MATH)}", "allow": False}

    def each_transport(self):
        for client in self.each(WebSocketClient, ZmqClient):
            yield client

    def test_commons_lang_strings(self):
        utils = "org.apache.commons.lang3.StringUtils"
        for client in self.each_transport():
            self.assertEqual(client.call(utils, "capitalize", "jpeer"), "Jpeer")
            self.assertEqual(client.call(utils, "reverse", "añb🪐"), "🪐bña")
            self.assertEqual(client.call(utils, "leftPad", "7", typed("int", 3), typed("char", "0")), "007")
            self.assertEqual(client.call(utils, "join", typed("Object[]", ["a", 1, None]), typed("String", "-")), "a-1-")
            self.assertEqual(client.call(utils, "isBlank", typed("CharSequence", "  ")), "true")
            self.assertEqual(client.call(utils, "countMatches", "abcabc", typed("char", "b")), "2")
            self.assertIsNone(client.call(utils, "trimToNull", "  "))

    def test_commons_math_statistics(self):
        statistics = "org.apache.commons.math3.stat.descriptive.DescriptiveStatistics"
        for client in self.each_transport():
            numbers = client.new(statistics)
            for number in (1.5, 2.5, 4.0, 8.0):
                client.call(statistics, "addValue", number, on=numbers)
            self.assertEqual(float(client.call(statistics, "getMean", on=numbers)), 4.0)
            self.assertAlmostEqual(float(client.call(statistics, "getStandardDeviation", on=numbers)), 2.8577380332470)
            result = client.value("call", {"type": statistics, "method": "getValues", "instance": numbers})
            self.assertEqual(result["value"], "[1.5,2.5,4.0,8.0]")
