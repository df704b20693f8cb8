"""Suggestions for names that were not found, through the binary, on each JDK."""


from support import jdks
from support.clients import RpcError, WebSocketClient, fetch
from support.peer import Peer
from support.peer_case import PeerCase


def suggestions(client, type_name):
    try:
        client.call(type_name, "member")
    except RpcError as error:
        return error.data.get("suggestions")
    return None


class Suggestions(PeerCase):
    def test_classes_that_the_caller_may_not_use_take_no_place(self):
        # More classes of a JDK are called Holder than are looked at for a suggestion.
        for home in jdks.homes():
            with self.subTest(home=home.name), Peer("--jvm", home, "--rpc-allow", "fixtures.**", allow=False) as peer, \
                    WebSocketClient(peer) as client:
                self.assertEqual(suggestions(client, "fixtures.Holder"), ["fixtures.Typed$Holder"])
                fetch(client)
                self.assertEqual(suggestions(client, "fixtures.Holder"), ["fixtures.Typed$Holder"])

    def test_what_is_suggested_does_not_depend_on_who_has_read_the_catalog(self):
        for home in jdks.homes():
            with self.subTest(home=home.name), Peer("--jvm", home) as peer, WebSocketClient(peer) as client:
                names = ("fixtures.Holder", "java.util.Entry", "java.util.ArayList", "org.w3c.Builder")
                before = [suggestions(client, name) for name in names]
                fetch(client)
                self.assertEqual([suggestions(client, name) for name in names], before)
                self.assertIn("fixtures.Typed$Holder", before[0])
