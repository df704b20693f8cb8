"""The values of binary messages: the content of results, and the forms of arguments."""

import json

from support.binary_client import (call_message, get_message, named, new_message, obj, obj_null, obj_ref, put_message)
from support.peer_case import BinaryCase

LIST = "java.util.ArrayList"
ARGUMENTS = "fixtures.Arguments"
FIELDS = "fixtures.Fields"


class Results(BinaryCase):
    def test_a_value_has_1000_elements_at_most(self):
        for type_name, method in ((ARGUMENTS, "manyInts"), ("java.util.Collections", "nCopies")):
            for count, has_value in ((1000, True), (1001, False)):
                args = (count,) if method == "manyInts" else (count, "x")
                value = self.client.result(call_message(type_name, method, *args))
                self.assertEqual("value" in value, has_value, (method, count))
                self.assertIn("ref", value)

    def test_collections_and_maps_have_a_value_beside_their_ref(self):
        for message, value in (
                (call_message("fixtures.Shelf", "titles"), ["Emma", "Persuasion"]),
                (call_message("java.util.Arrays", "asList", obj([1, None, 2.5, True, "x"], "Object[]")),
                 [1, None, 2.5, True, "x"]),
                (call_message("java.util.Set", "of", 5), [5]),
                (new_message(LIST), []),
                (call_message("java.util.Map", "of", "a", 1), {"a": 1}),
                (new_message("java.util.TreeMap"), {}),
                (call_message("java.util.Map", "of", "a", obj([1, [2, {"b": None}]], "java.util.List")),
                 {"a": [1, [2, {"b": None}]]})):
            result = self.client.result(message)
            self.assertIn("ref", result)
            self.assertEqual(json.loads(result.get("value", '"none"')), value)

    def test_a_collection_that_contains_an_object_is_only_a_ref(self):
        user = self.client.new("fixtures.User", "ann", 30)
        value = self.client.result(call_message("java.util.List", "of", obj_ref(user)))
        self.assertEqual(set(value), {"clazz", "ref"})

    def odd(self, method, *args):
        """Returns the value of a collection or map from fixtures.OddCollections; None if the result has only a ref."""
        result = self.client.result(call_message("fixtures.OddCollections", method, *args))
        self.assertLessEqual({"clazz", "ref"}, set(result))
        self.assertLessEqual(set(result), {"clazz", "ref", "value"})
        return result.get("value")

    def test_a_collection_that_cannot_be_read_is_only_a_ref(self):
        for method in ("sizeThrows", "toArrayThrows", "toArrayGivesNull", "sizeIsTooSmall", "sizeIsTooLarge",
                       "listsThatShare", "noEntries", "entryIsNull", "entryIsNone", "keyThrows", "mapInItself", "keyIsAnObject"):
            with self.subTest(method=method):
                self.assertIsNone(self.odd(method))
        for depth in (5000, 1_000_000):
            self.assertIsNone(self.odd("listInList", depth))

    def test_what_can_be_read_after_all(self):
        self.assertEqual(self.odd("sizeIsNegative"), '["a",1]')
        self.assertEqual(self.odd("listInList", 20), "[" * 20 + "]" * 20)
        self.assertEqual(json.loads(self.odd("oddKeys")),
                         {"null": "null", "1.5": "decimal", "c": [True], '"\ud800': "text"})

    def test_a_list_that_contains_itself_is_only_a_ref(self):
        number = self.client.new(LIST)
        self.client.call(LIST, "add", obj_ref(number), on=number)
        value = self.client.result(call_message(ARGUMENTS, "echoObject", obj_ref(number)))
        self.assertEqual(value, {"clazz": named(LIST), "ref": number})

    def test_refs_in_lists(self):
        """A ref in a result can be used."""
        number = self.client.new(LIST)
        self.client.call(LIST, "add", "x", on=number)
        value = self.client.result(call_message("java.util.Collections", "unmodifiableList", obj_ref(number)))
        self.assertEqual(value["value"], '["x"]')
        self.assertEqual(self.client.call("java.util.List", "size", on=value["ref"]), 1)


class Arguments(BinaryCase):
    def describe(self, argument):
        return self.client.call(ARGUMENTS, "describe", argument)

    def test_the_forms_of_null(self):
        for argument in (obj_null(), obj_null("java.lang.String"), {}, {"clazz": named("java.lang.String")}, obj(None),
                         obj(None, "java.lang.Integer")):
            self.assertEqual(self.describe(argument), "null")

    def test_what_came_back_can_be_handed_back(self):
        """An Obj with a ref means the object of the ref, even if it has a value, too."""
        titles = self.client.result(call_message("fixtures.Shelf", "titles"))
        self.assertEqual(set(titles), {"clazz", "ref", "value"})
        for handed in (titles, {**titles, "value": "[]"}, {**titles, "value": "not JSON"}):
            self.assertEqual(self.client.result(call_message(ARGUMENTS, "echoObject", handed)), titles)
        for method in ("echoInt", "echoString", "echoDouble"):
            result = self.client.result(call_message(ARGUMENTS, method, obj("7")))
            self.assertEqual(self.client.result(call_message(ARGUMENTS, method, result)), result)
        self.assertEqual(self.describe({**titles, "isNull": True}), "null")
        self.assertEqual(self.describe({**obj(5), "isNull": True}), "null")

    def test_a_value_is_accepted_unchanged(self):
        number = self.client.new(LIST)
        self.assertEqual(self.describe(obj({"ref": number})), f"HashMap{{ref=Integer:{number} }}")
        self.assertEqual(self.describe(obj({"type": "long", "value": 5})), "HashMap{type=String:long value=Integer:5 }")
        self.assertEqual(self.describe(obj([{"ref": number}, {"type": "long", "value": 5}])),
                         "ArrayList[ArrayList[] Long:5 ]")

    def test_refs_that_no_object_can_have(self):
        for number in (1 << 31, (1 << 32) - 1):
            for message in (call_message(ARGUMENTS, "echoObject", obj_ref(number)), call_message(LIST, "size", on=number),
                            get_message(FIELDS, "anInt", on=number), put_message(FIELDS, "aStatic", obj_ref(number))):
                self.assert_raised(message, "java.lang.IllegalArgumentException", "2147483647")

    def test_an_instance_member_without_an_instance(self):
        for message in (call_message("fixtures.Members", "publicMethod"), get_message("fixtures.Members", "publicField"),
                        call_message("fixtures.Members", "publicMethod", on=0),
                        put_message("fixtures.Members", "publicField", "x", on=0)):
            self.assertEqual(self.raised_by(message).type, "java.lang.IllegalArgumentException")


class RefsOfValues(BinaryCase):
    """With --compat pal each result that is neither void nor null has a ref, because the existing Java client checks
    that."""

    options = ("--compat", "pal")

    def test_every_value_has_a_ref_that_can_be_used(self):
        for method, argument, type_name in (("echoInt", 42, "int"), ("echoBoolean", True, "boolean"),
                                            ("echoDouble", 2.5, "double"), ("echoChar", "A", "char"),
                                            ("echoBoxedInt", 7, "java.lang.Integer"),
                                            ("echoString", "abc", "java.lang.String")):
            with self.subTest(method=method):
                result = self.client.result(call_message(ARGUMENTS, method, argument))
                self.assertEqual(result["clazz"], named(type_name))
                self.assertGreater(result["ref"], 0)
                for handed in (obj_ref(result["ref"]), obj_ref(result["ref"], type_name), result):
                    for receiver in (method, "echoObject"):
                        again = self.client.result(call_message(ARGUMENTS, receiver, handed))
                        self.assertEqual(again["value"], result["value"])

    def test_a_primitive_that_is_handed_back_is_a_primitive(self):
        number, fields = self.client.result(call_message(ARGUMENTS, "echoInt", 70000)), self.client.new(FIELDS)
        self.assertEqual(self.client.call("fixtures.Overloads", "widen", number), "long")
        self.assertEqual(self.client.call("fixtures.Overloads", "widen", obj_ref(number["ref"])), "Integer")
        self.client.run(put_message(FIELDS, "aLong", number, on=fields))
        self.assertEqual(self.client.result(get_message(FIELDS, "aLong", on=fields))["value"], "70000")
        self.assert_raised(call_message(ARGUMENTS, "echoInt", obj_ref(number["ref"], "long")),
                           "java.lang.IllegalArgumentException", f"ref {number['ref']}: an object is no long")

    def test_repeated_calls_and_fields_have_refs(self):
        refs = {self.client.result(call_message(ARGUMENTS, "echoInt", 100000 + i))["ref"] for i in range(50)}
        self.assertEqual(len(refs), 50)
        self.assertGreater(self.client.result(get_message("java.lang.Integer", "MAX_VALUE"))["ref"], 0)

    def test_null_and_void_have_no_ref(self):
        self.assertNotIn("ref", self.client.result(call_message(ARGUMENTS, "echoString", obj_null("java.lang.String"))))
