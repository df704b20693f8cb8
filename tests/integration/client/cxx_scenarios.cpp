/*
 * jpeer/client.hpp and the macros of jpeer/request.h in C++ against a peer: each scenario is a function, and all are
 * run. test_cxx.py builds this with each compiler, and with AddressSanitizer.
 *
 * usage: cxx_scenarios URL
 *        cxx_scenarios launch JPEER
 */
#include <jpeer/client.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <thread>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                   \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (0)

namespace
{

/* The exception that the function throws; it must throw one. */
template <class F> jpeer::error thrown_by(F function)
{
  try {
    function();
  } catch (const jpeer::error &thrown) {
    return thrown;
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::exit(1);
}

template <class F> void await(F has_happened, const char *what)
{
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!has_happened()) {
    if (std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "in a minute %s\n", what);
      std::exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/* ---- jpeer/request.h ---- */

/* The request is returned from the function that has its arguments. */
auto make_max(int left, int right)
{
  return jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(left), jp_int(right)));
}

/* Overwrites the stack memory of earlier calls. */
void overwrite_stack()
{
  volatile char filler[8192];
  for (std::size_t i = 0; i < sizeof filler; i++)
    filler[i] = static_cast<char>(0xA5);
}

std::int64_t ask_integer(jp_client *client, const jp_request *request)
{
  jp_answer *answer;
  jp_client_error error;
  std::int64_t read = -1;
  if (jp_client_call(client, request, 30000, &answer, &error) == JP_CLIENT_OK)
    jp_answer_integer(answer, &read);
  else
    std::fprintf(stderr, "%s\n", error.text);
  jp_answer_free(answer);
  return read;
}

void macros_outlive_their_statement(jpeer::client &java)
{
  auto first = make_max(5, 3);
  const auto second = make_max(11, 70);
  overwrite_stack();
  CHECK(ask_integer(java.raw(), &first) == 5);
  CHECK(ask_integer(java.raw(), &second) == 70);
  first = second; /* the copy has its own arguments */
  CHECK(ask_integer(java.raw(), &first) == 70);
  CHECK((&first)->args != (&second)->args);
  std::vector<decltype(first)> many;
  for (int i = 0; i < 100; i++)
    many.push_back(jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(i), jp_int(50))));
  overwrite_stack();
  for (int i = 0; i < 100; i++)
    CHECK(ask_integer(java.raw(), &many[static_cast<std::size_t>(i)]) == (i < 50 ? 50 : i));
  jp_options options = JP_ZEROS;
  options.size = sizeof options;
  auto with = jp_with_options(make_max(1, 2), &options);
  CHECK((&with)->options == &options && ask_integer(java.raw(), &with) == 2);
  jp_request none = jp_build_class_method_call("java.lang.Thread", "activeCount", JP_NO_ARGUMENTS);
  CHECK(ask_integer(java.raw(), &none) > 0);
}

void macros_in_a_chain(jpeer::client &java)
{
  jp_chain *chain = jp_chain_create(java.raw());
  const jp_argument items[] = {jp_string("x"), jp_string("y")};
  jp_client_error error;
  std::int64_t size = 0;
  jp_chain_create_object(chain, "list", "java.util.ArrayList", JP_ARGUMENTS(jp_list(nullptr, items, 2)));
  const auto more = JP_ARGUMENTS(jp_int(1), jp_byte(-2));
  jp_chain_call(chain, nullptr, "addAll", JP_ARGUMENTS(jp_list(nullptr, more)));
  jp_chain_call(chain, nullptr, "removeAll", JP_ARGUMENTS(jp_list(nullptr, more)));
  jp_chain_call(chain, nullptr, "add", JP_ARGUMENTS(jp_string("b")));
  jp_chain_call(chain, "size", "size", JP_NO_ARGUMENTS);
  jp_chain_call_static(chain, "max", "java.lang.Math", "max", JP_ARGUMENTS(jp_named("size"), jp_int(2)));
  overwrite_stack();
  CHECK(jp_chain_send(chain, 30000, &error) == JP_CLIENT_OK);
  CHECK(jp_answer_integer(jp_chain_answer(chain, "max"), &size) && size == 3);
  CHECK(jp_answer_text(jp_chain_answer(chain, "sise")).data == nullptr); /* misspelt: an empty answer */
  jp_chain_destroy(chain);
}

/* ---- values ---- */

/* The function fails with JP_CLIENT_INVALID. */
template <class F> bool is_refused(F function)
{
  return thrown_by(function).status() == JP_CLIENT_INVALID;
}

jpeer::answer ask_json(jpeer::client &java, const char *method, const char *params)
{
  return java.request(jp_build_method(method, jp_text_of(params)));
}

void numbers_that_do_not_fit(jpeer::client &java)
{
  const auto parse = [&](const char *digits) { return java.call("java.lang.Double", "parseDouble", digits); };
  CHECK(is_refused([&] { parse("1e300").as<float>(); }));
  CHECK(is_refused([&] { parse("-3.5e38").as<float>(); }));
  CHECK(is_refused([&] { parse("1e-300").as<float>(); }));
  CHECK(parse("0.1").as<float>() == 0.1F); /* rounded, as docs/c-client.md says */
  CHECK(std::isinf(parse("Infinity").as<float>()) && std::isnan(parse("NaN").as<float>()));
  CHECK(std::signbit(parse("-0.0").as<float>()) && std::signbit(parse("-0.0").as<double>()));
  CHECK(java.get("java.lang.Float", "MAX_VALUE").as<float>() == std::numeric_limits<float>::max());
  CHECK(java.get("java.lang.Float", "MIN_VALUE").as<float>() == std::numeric_limits<float>::denorm_min());
  CHECK(java.get("java.lang.Double", "MAX_VALUE").as<double>() == std::numeric_limits<double>::max());
  const auto abs = [&](auto number) { return java.call("java.lang.Math", "abs", number); };
  CHECK(abs(16777216).as<float>() == 16777216.0F && is_refused([&] { abs(16777217).template as<float>(); }));
  CHECK(abs(std::int64_t{9007199254740992}).as<double>() == 9007199254740992.0);
  CHECK(is_refused([&] { abs(std::int64_t{9007199254740993}).template as<double>(); }));
  const jpeer::answer largest = java.get("java.lang.Long", "MAX_VALUE");
  CHECK(is_refused([&] { largest.as<double>(); }) && is_refused([&] { largest.as<float>(); }));
  CHECK(java.get("java.lang.Long", "MIN_VALUE").as<double>() == -9223372036854775808.0);
  const std::vector<double> doubles = {0.5, 1e300};
  const jpeer::answer copied = java.call("java.util.Arrays", "copyOf", doubles, 2);
  CHECK(is_refused([&] { copied.as<std::vector<float>>(); }) && copied.as<std::vector<double>>() == doubles);
  CHECK(java.call("java.util.Arrays", "copyOf", doubles, 1).as<std::vector<float>>() ==
        std::vector<float>{0.5F});
  const std::vector<std::int64_t> longs = {1, 9007199254740993};
  const jpeer::answer whole = java.call("java.util.Arrays", "copyOf", longs, 2);
  CHECK(is_refused([&] { whole.as<std::vector<double>>(); }) &&
        whole.as<std::vector<std::int64_t>>() == longs);
  CHECK(is_refused([&] { whole.as<std::vector<std::int32_t>>(); }));
  jpeer::object list = java.create("java.util.ArrayList", jpeer::list({longs[1]}));
  bool has_run = false;
  jpeer::error inside =
      thrown_by([&] { list.call("forEach", java.lambda([&](double) { has_run = true; })); });
  CHECK(!has_run && inside.throwable_type() == "jpeer.peer.CallbackException");
}

void numbers_of_json_that_do_not_fit(jpeer::client &java)
{
  const auto list = [&](const char *items) { return ask_json(java, "java.util.List.of", items); };
  CHECK(is_refused([&] { list("[9007199254740993]").as<std::vector<double>>(); }));
  CHECK(is_refused([&] { list("[16777217]").as<std::vector<float>>(); }));
  CHECK(is_refused([&] { list("[1e300]").as<std::vector<float>>(); }));
  CHECK(list("[0.1, 3, -0.0]").as<std::vector<double>>() == std::vector<double>({0.1, 3, 0}));
  const jpeer::answer abs = ask_json(java, "java.lang.Math.abs", "[-2]");
  CHECK(abs.kind() == JP_ANSWER_JSON && abs.as<std::string>() == "2" && abs.as<double>() == 2);
  const jpeer::error refused = thrown_by([&] { abs.as<bool>(); });
  CHECK(std::string(refused.what()) == "the JSON of a result is not what was asked for: 2");
  CHECK(is_refused([&] { list("[1]").as<std::vector<std::string>>(); }));
}

void characters(jpeer::client &java)
{
  const auto upper = [&](auto given) { return java.call("java.lang.Character", "toUpperCase", given); };
  CHECK(upper('a').as<char>() == 'A' && upper('a').as<char16_t>() == u'A');
  CHECK(upper(u'\u00e4').as<char16_t>() == u'\u00c4' &&
        is_refused([&] { upper(u'\u00e4').template as<char>(); }));
  CHECK(upper(u'\u1e01').as<char16_t>() == u'\u1e00');
  const char16_t lone = 0xD800;
  CHECK(upper(lone).as<char16_t>() == lone);
  CHECK(is_refused(
      [&] { java.call("java.lang.String", "valueOf", 5).as<char>(); })); /* a String is not a char */
  CHECK(is_refused([&] { java.call("java.lang.Math", "abs", 65).as<char>(); }));
  CHECK(java.call("java.lang.Character", "valueOf", '\0').as<char>() == '\0');
  const std::vector<char16_t> units = {u'a', u'\u00e4', lone};
  CHECK(java.call("java.util.Arrays", "copyOf", units, 3).as<std::vector<char16_t>>() == units);
  const std::vector<char> bytes = {'a', '\x80'};
  CHECK(java.call("java.util.Arrays", "copyOf", bytes, 2).as<std::vector<char>>() == bytes);
  jpeer::object list = java.create("java.util.ArrayList", jpeer::list({'x', u'\u00e4'}));
  std::u16string seen;
  list.call("forEach", java.lambda([&](char16_t each) { seen += each; }));
  CHECK(seen == u"x\u00e4");
  list.call("replaceAll", java.lambda([](char16_t each) { return each == u'x' ? 'y' : 'z'; }));
  CHECK(list.call("toString").as<std::string>() == "[y, z]" && list.call("get", 0).as<char>() == 'y');
}

void numbers(jpeer::client &java)
{
  CHECK(java.call("java.lang.Math", "max", 5, 3).as<int>() == 5);
  CHECK(java.call("java.lang.Math", "max", std::int64_t{1} << 40, std::int64_t{3}).as<std::int64_t>() ==
        std::int64_t{1} << 40);
  CHECK(java.call("java.lang.Math", "sqrt", 2.25).as<double>() == 1.5);
  CHECK(java.call("java.lang.Math", "abs", -1.5F).as<float>() == 1.5F);
  CHECK(java.call("java.lang.Boolean", "logicalXor", true, false).as<bool>());
  CHECK(java.call("java.lang.Byte", "toString", std::int8_t{-7}).as<std::string>() == "-7");
  CHECK(java.call("java.lang.Character", "getNumericValue", '7').as<int>() == 7);
  CHECK(java.call("java.lang.Character", "toUpperCase", u'\u00e4').as<std::string>() == "\u00c4");
  CHECK(java.call("java.lang.Integer", "toUnsignedLong", -1).as<std::uint32_t>() == 4294967295U);
  jpeer::error narrow = thrown_by([&] { java.get("java.lang.Integer", "MAX_VALUE").as<std::int16_t>(); });
  CHECK(narrow.status() == JP_CLIENT_INVALID);
  CHECK(std::string(narrow.what()).find("2147483647") != std::string::npos);
  CHECK(java.call("java.lang.Math", "abs", -1).as<std::string>() == "1");
  CHECK(thrown_by([] { jpeer::value given('\xe4'); }).status() == JP_CLIENT_INVALID);
}

void texts(jpeer::client &java)
{
  std::string text = "gr\u00fc\u00df\0e \U0001f600";
  std::string_view view = "middle of this";
  CHECK(java.call("java.lang.String", "valueOf", jpeer::value(text).as_type("java.lang.Object"))
            .as<std::string>() == text);
  CHECK(java.call("java.lang.Integer", "parseInt", std::string_view("x42x").substr(1, 2)).as<int>() == 42);
  CHECK(java.create("java.lang.StringBuilder", view.substr(0, 6)).call("length").as<int>() == 6);
  jpeer::answer null = java.call("java.lang.System", "getProperty", "no.such.property");
  CHECK(null.is_null() && !null.as<std::optional<std::string>>());
  CHECK(java.call("java.lang.System", "getProperty", "java.version")
            .as<std::optional<std::string>>()
            .value()
            .size() > 1);
  CHECK(java.call("java.util.Objects", "isNull", nullptr).as<bool>());
  const char *none = nullptr;
  CHECK(java.call("java.util.Objects", "isNull", none).as<bool>());
  CHECK(java.call("java.util.Objects", "isNull", std::optional<int>()).as<bool>());
}

void collections(jpeer::client &java)
{
  std::vector<int> ints = {3, 1, 2};
  CHECK(java.call("java.util.Arrays", "stream", ints)
            .as<jpeer::object>()
            .as_type("java.util.stream.IntStream")
            .call("sum")
            .as<int>() == 6);
  CHECK(java.call("java.util.Arrays", "copyOf", ints, 2).as<std::vector<int>>() == std::vector<int>({3, 1}));
  std::vector<double> doubles = {0.5, -0.0, 1e300};
  CHECK(java.call("java.util.Arrays", "copyOf", doubles, 3).as<std::vector<double>>() == doubles);
  std::vector<bool> flags = {true, false, true};
  CHECK(java.call("java.util.Arrays", "copyOf", flags, 3).as<std::vector<bool>>() == flags);
  std::vector<std::byte> bytes(1000, std::byte{0x80});
  CHECK(java.call("java.util.Arrays", "copyOf", bytes, 1000).as<std::vector<std::byte>>() == bytes);
  CHECK(java.call("java.util.Arrays", "copyOf", std::vector<int>(), 0).as<std::vector<int>>().empty());
  std::vector<std::string> words = {"fig", "pear", "\"quoted\""};
  jpeer::object list = java.create("java.util.ArrayList", words);
  CHECK(list.call("get", 2).as<std::string>() == "\"quoted\"");
  const jpeer::answer fetched = list.fetch(10);
  CHECK(jp_json_member(fetched.json(), "elements").kind == JP_JSON_ARRAY);
  CHECK(is_refused([&] { java.call("java.lang.String", "valueOf", 5).as<std::vector<int>>(); }));
  CHECK(is_refused(
      [&] { /* a String is not an array, whatever its text */
            java.create("java.lang.StringBuilder", "[1,2]").call("toString").as<std::vector<int>>();
      }));
  jpeer::answer split = java.create("java.lang.StringBuilder", "a,b").call("toString");
  CHECK(split.as<std::string>() == "a,b");
  std::map<std::string, int> map = {{"one", 1}, {"two", 2}};
  CHECK(java.create("java.util.TreeMap", map).call("get", "two").as<int>() == 2);
  jpeer::value mixed = jpeer::list({1, "two", nullptr, jpeer::list({true})});
  jpeer::value kept = mixed;
  mixed = 7;
  CHECK(java.create("java.util.ArrayList", kept).call("toString").as<std::string>() ==
        "[1, two, null, [true]]");
  std::vector<jpeer::value> values = {1, "b"};
  CHECK(java.create("java.util.ArrayList", values).call("size").as<int>() == 2);
  jp_request own = jp_build_method("java.util.List.of", jp_text_of("[3, 4]"));
  CHECK(java.request(own).as<std::vector<std::int64_t>>() == std::vector<std::int64_t>({3, 4}));
  std::optional<jpeer::value> first = "an allocation of its own, not a short one";
  jpeer::value second = std::move(*first); /* both hold the content */
  CHECK(java.call("java.util.Objects", "equals", *first, second).as<bool>());
  second = jpeer::value();
  CHECK(java.create("java.util.ArrayList", jpeer::list({*first})).call("size").as<int>() == 1);
  first.reset();
}

/* Objects in the elements of lists. */
void elements(jpeer::client &java)
{
  jpeer::object calculator = java.create("com.example.Calculator");
  jpeer::object list = java.create("java.util.ArrayList", jpeer::list({calculator, calculator}));
  jpeer::answer fetched = list.fetch(10);
  const jp_json found = jp_json_member(fetched.json(), "elements");
  jpeer::object first = fetched.take(jp_json_at(found, 0));
  jpeer::object second = fetched.take(jp_json_at(found, 1), "java.lang.Object");
  CHECK(first.type() == "com.example.Calculator" && second.type() == "java.lang.Object");
  CHECK(is_refused([&] { fetched.take(jp_json_at(found, 0)); }) && is_refused([&] { fetched.take(found); }));
  calculator = jpeer::object();
  fetched = java.call("java.lang.Math", "abs", 1);
  list.call("clear");
  first.call("accumulate", 8);
  CHECK(first.get("result").as<int>() == 8 && second.call("equals", first).as<bool>());
  jp_options options = JP_ZEROS;
  options.size = sizeof options;
  options.types = true;
  jpeer::object nested = java.create("java.util.ArrayList", jpeer::list({java.create("java.lang.Object")}));
  jpeer::answer typed =
      java.request(jp_with_options(jp_build_fetch(jp_object(nested.raw()), 10, 0), &options));
  jpeer::object typed_element = typed.take(jp_json_at(jp_json_member(typed.json(), "elements"), 0));
  CHECK(typed_element.type() == "java.lang.Object" && typed_element.call("equals", typed_element).as<bool>());
  jpeer::object adopted = java.adopt(jp_ref_keep(first.raw()));
  CHECK(adopted.get("result").as<int>() == 8 && is_refused([&] { java.adopt(nullptr); }));
  CHECK(java.adopt(jp_ref_keep(first.raw()), "java.lang.Object").type() == "java.lang.Object");
}

/* Classes that no request contained. */
void unknown_classes(jpeer::client &java)
{
  jpeer::object function = java.call("java.util.function.Function", "identity").as<jpeer::object>();
  CHECK(function.type().find('/') != std::string::npos); /* a hidden class */
  CHECK(function.call("apply", "x").as<std::string>() == "x");
  jpeer::object list = java.create("java.util.ArrayList", jpeer::list({function}));
  jpeer::answer fetched = list.fetch(1);
  function = jpeer::object();
  jpeer::object element = fetched.take(jp_json_at(jp_json_member(fetched.json(), "elements"), 0));
  CHECK(element.call("apply", 5).as<int>() == 5);
  jpeer::object array = java.create("int[]", 4);
  CHECK(java.adopt(jp_ref_keep(array.raw())).get("length").as<int>() == 4);

  jpeer::chain chain = java.chain();
  chain.create("map", "java.util.HashMap").call("", "put", "k", element);
  chain.call("entries", "entrySet").with("entries").call("iterator", "iterator");
  chain.with("iterator").call("entry", "next").with("entry").call("value", "getValue");
  chain.with("value").call("same", "apply", 7).with(element).call("text", "apply", "y");
  chain.with("map").call("size", "size").send();
  CHECK(chain["same"].as<int>() == 7 && chain["text"].as<std::string>() == "y" &&
        chain["size"].as<int>() == 1);
  chain.with("nothing").call("", "size");
  CHECK(is_refused([&] { chain.send(); }));
}

void names_with_nuls(jpeer::client &java)
{
  using namespace std::string_literals;
  CHECK(is_refused([&] { java.call("java.lang.Math"s, "abs\0Exact"s, 1); }));
  CHECK(is_refused([&] { java.create("java.lang.Object\0.x"s); }));
  CHECK(is_refused([&] { jpeer::value(1).as_type("int\0"s); }));
  jpeer::chain chain = java.chain();
  CHECK(is_refused([&] { chain.call_static("a\0b"s, "java.lang.Math", "abs", 1); }));
}

/* ---- objects and errors ---- */

void objects(jpeer::client &java)
{
  jpeer::object calculator = java.create("com.example.Calculator");
  calculator.call("accumulate", 8);
  CHECK(calculator.get("result").as<int>() == 8);
  calculator.put("result", 30);
  CHECK(calculator.get("result").as<int>() == 30);
  CHECK(calculator.type() == "com.example.Calculator" && calculator.number() > 0);
  jpeer::object other = calculator.copy();
  jpeer::object moved = std::move(calculator);
  CHECK(!calculator && moved && other.call("equals", moved).as<bool>());
  CHECK(thrown_by([&] { calculator.get("result"); }).status() == JP_CLIENT_INVALID);
  jpeer::value kept = moved; /* holds the object */
  moved = jpeer::object();
  other = jpeer::object();
  CHECK(java.call("java.util.Objects", "nonNull", kept).as<bool>());
  jpeer::answer iterator = java.create("java.util.ArrayList", jpeer::list({1})).call("iterator");
  CHECK(iterator.as<jpeer::object>().as_type("java.util.Iterator").call("next").as<int>() == 1);
  CHECK(thrown_by([&] { java.call("java.lang.Math", "abs", 1).as<jpeer::object>(); }).status() ==
        JP_CLIENT_INVALID);
}

void errors(jpeer::client &java)
{
  jpeer::error thrown = thrown_by([&] { java.call("java.lang.Integer", "parseInt", "x"); });
  CHECK(thrown.status() == JP_CLIENT_REMOTE && thrown.code() == -32000);
  CHECK(thrown.throwable_type() == "java.lang.NumberFormatException");
  CHECK(thrown.java()->message.find("\"x\"") != std::string::npos && !thrown.java()->stack.empty());
  CHECK(std::string(thrown.what()).find("NumberFormatException") != std::string::npos);
  jpeer::error missing = thrown_by([&] { java.call("java.lang.Math", "nosuch"); });
  CHECK(missing.status() == JP_CLIENT_REMOTE && missing.code() == -32601);
  jpeer::error nobody = thrown_by([] { jpeer::client gone("ws+unix:/nonexistent/peer"); });
  CHECK(nobody.status() == JP_CLIENT_REFUSED && nobody.java() == nullptr);
}

void moved_from(jpeer::client &java)
{
  jpeer::answer answer = java.call("java.lang.Math", "abs", 1);
  jpeer::answer moved = std::move(answer);
  CHECK(is_refused([&] { answer.is_void(); }) && is_refused([&] { answer.as<int>(); }));
  CHECK(is_refused([&] { answer.text(); }) && is_refused([&] { answer.raw(); }) && moved.as<int>() == 1);
  jpeer::callback callback = java.lambda([](int) { return 1; });
  jpeer::callback other = std::move(callback);
  CHECK(is_refused([&] { jpeer::value given(callback); }));
  jpeer::chain chain = java.chain();
  jpeer::chain next = std::move(chain);
  CHECK(thrown_by([&] { chain.call_static("", "java.lang.Math", "abs", 1); }).status() == JP_CLIENT_INVALID);
  CHECK(thrown_by([&] { chain.send(); }).status() != JP_CLIENT_OK);
}

void handles_outlive_their_client(const std::string &url)
{
  std::optional<jpeer::client> java(url);
  jpeer::chain chain = java->chain();
  jpeer::object list = java->create("java.util.ArrayList");
  jpeer::answer text = java->call("java.lang.String", "valueOf", 5);
  jpeer::callback function = java->lambda([](int) { return 1; });
  java.reset();
  CHECK(text.as<std::string>() == "5");
  CHECK(thrown_by([&] { list.call("size"); }).status() == JP_CLIENT_CLOSED);
  CHECK(thrown_by([&] { chain.call_static("", "java.lang.Math", "abs", 1); }).status() == JP_CLIENT_CLOSED);
  jpeer::value given = function; /* still usable */
}

/* How long Java waits for a latch, unless its client ends. */
enum { LATCH_SECONDS = 60 };

/* The client ends while another thread waits in a call. The state of the hook must live as long as the
 * wait. */
void ends_while_a_thread_waits(const std::string &url, bool is_moved)
{
  std::vector<int> state(1000, 0);
  std::atomic<int> asked = 0;
  jpeer::client_options options;
  options.interrupted = [state, &asked] {
    asked++;
    return state[999] != 0;
  };
  std::optional<jpeer::client> java(std::in_place, url, options);
  jpeer::object latch = java->create("java.util.concurrent.CountDownLatch", 1);
  jpeer::object seconds = java->get("java.util.concurrent.TimeUnit", "SECONDS").as<jpeer::object>();
  const auto begun = std::chrono::steady_clock::now();
  std::thread waiting([&] {
    jpeer::error thrown = thrown_by([&] { latch.call("await", std::int64_t{LATCH_SECONDS}, seconds); });
    CHECK(thrown.status() == JP_CLIENT_CLOSED);
  });
  await([&] { return asked > 0; }, "the hook was not asked");
  if (is_moved)
    *java = jpeer::client(url);
  else
    java.reset();
  waiting.join();
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(LATCH_SECONDS));
}

void timeouts(const std::string &url)
{
  jpeer::client_options options;
  options.timeout_ms = 20;
  jpeer::client java(url, options);
  CHECK(thrown_by([&] { java.call("java.lang.Thread", "sleep", std::int64_t{3000}); }).status() ==
        JP_CLIENT_TIMEOUT);
  bool was_asked = false;
  options.timeout_ms = JP_FOREVER;
  options.interrupted = [&] { return was_asked = true; };
  jpeer::client other(url, options);
  CHECK(thrown_by([&] { other.call("java.lang.Thread", "sleep", std::int64_t{3000}); }).status() ==
        JP_CLIENT_INTERRUPTED);
  CHECK(was_asked);
}

/* url: of a unix socket. */
void tokens(const std::string &url)
{
  jpeer::client_options options;
  int calls = 0;
  options.token_function = [&calls] { return "token-" + std::to_string(++calls); };
  options.headers = {"X-Trace: 7"};
  CHECK(jpeer::client(url, options).call("java.lang.Math", "max", 3, 5).as<int>() == 5);
  CHECK(calls == 1);
  for (const std::string &token :
       {std::string("secret\r\n"), std::string("secret\0", 7), std::string(9000, 'a')}) {
    options.token_function = [&token] { return token; };
    jpeer::error thrown = thrown_by([&] { jpeer::client made(url, options); });
    CHECK(thrown.status() == JP_CLIENT_NO_TOKEN);
    CHECK(std::string(thrown.what()).find("secret") == std::string::npos);
  }
  options.token_function = []() -> std::string { throw std::runtime_error("secret"); };
  jpeer::error thrown = thrown_by([&] { jpeer::client made(url, options); });
  CHECK(thrown.status() == JP_CLIENT_NO_TOKEN);
  CHECK(std::string(thrown.what()).find("it threw an exception") != std::string::npos);
  options.token = std::string("secret\0", 7);
  CHECK(std::string(thrown_by([&] { jpeer::client made(url, options); }).what()) == "token has a NUL in it");
}

void chains(jpeer::client &java)
{
  jpeer::chain chain = java.chain();
  chain.create("words", "java.util.TreeSet").call("", "add", "b").call("", "add", "a");
  chain.call_static("text", "java.lang.String", "valueOf", jpeer::named("words").as_type("java.lang.Object"));
  chain.send();
  CHECK(chain["text"].as<std::string>() == "[a, b]");
  jpeer::object words = chain["words"].as<jpeer::object>();
  CHECK(thrown_by([&] { chain["wrods"]; }).status() == JP_CLIENT_INVALID);
  chain.with(words).call("size", "size").call("", "first").call("", "nosuch").call("last", "last");
  jpeer::error failed = thrown_by([&] { chain.send(); });
  CHECK(failed.status() == JP_CLIENT_REMOTE && failed.code() != 0);
  CHECK(std::string(failed.what()).find("nosuch") != std::string::npos);
  CHECK(chain["size"].as<int>() == 2 && chain["last"].as<std::string>() == "b");
  CHECK(chain["last"].text() == "b" && *chain["size"].type() != '\0');
  chain.call_static("bad", "java.lang.Integer", "parseInt", "x");
  CHECK(thrown_by([&] { chain.send(); }).status() == JP_CLIENT_REMOTE);
  jpeer::error step = thrown_by([&] { chain["bad"].as<std::optional<int>>(); });
  CHECK(step.status() == JP_CLIENT_REMOTE && step.throwable_type() == "java.lang.NumberFormatException");
}

/* A chain holds its values until it is sent. */
void chains_keep_what_they_are_given(jpeer::client &java)
{
  jpeer::object list = java.create("java.util.ArrayList");
  jpeer::chain chain = java.chain();
  chain.with(list).call("", "add", java.create("java.lang.StringBuilder", "x"));
  chain.call("", "add", jpeer::list({java.create("java.lang.StringBuilder", "y")}));
  chain.with(java.create("java.lang.StringBuilder", "z")).call("", "append", "!").call("text", "toString");
  chain.call_static("same", "java.util.Objects", "toString", java.create("java.lang.StringBuilder", "w"));
  std::string seen;
  chain.with(list).call("", "forEach", java.lambda([&](jpeer::answer_view each) { seen += each.type(); }));
  java.call("java.lang.Math", "abs", 1); /* also sends the releases */
  chain.send();
  CHECK(chain["text"].as<std::string>() == "z!" && chain["same"].as<std::string>() == "w" && !seen.empty());
  CHECK(list.call("toString").as<std::string>() == "[x, [y]]");
}

/* ---- callbacks ---- */

void callbacks(jpeer::client &java)
{
  jpeer::object list = java.create("java.util.ArrayList", std::vector<std::string>{"banana", "fig", "pear"});
  list.call("sort", java.lambda([](const std::string &left, const std::string &right) {
    return static_cast<int>(left.size()) - static_cast<int>(right.size());
  }));
  CHECK(list.call("toString").as<std::string>() == "[fig, pear, banana]");

  std::vector<std::string> seen;
  jpeer::callback consumer = java.lambda([&seen](std::string each) { seen.push_back(std::move(each)); });
  list.call("forEach", consumer);
  CHECK(seen.size() == 3 && seen[0] == "fig");

  jpeer::callback runnable = java.callback(
      [&](const jpeer::incoming &call) {
        CHECK(call.size() == 0 && std::string(call.method()) == "run");
        CHECK(std::string(call.interface_name()) == "java.lang.Runnable");
        list.call("add", "nested"); /* runs on the Java thread that waits for this call */
        return jpeer::value();
      },
      {"java.lang.Runnable"});
  java.create("java.lang.Thread", runnable).call("run");
  CHECK(list.call("size").as<int>() == 4);

  auto fail_with = [&](auto thrower) {
    return thrown_by([&] { list.call("forEach", java.lambda([&](std::string) { thrower(); })); });
  };
  jpeer::error java_error = fail_with([] { throw jpeer::error("java.io.IOError", "x"); });
  CHECK(!java_error.throwable_type().empty());
  jpeer::error denied = fail_with([] { throw jpeer::error("java.lang.IllegalStateException", "no more"); });
  CHECK(denied.throwable_type() == "java.lang.IllegalStateException" && denied.java()->message == "no more");
  jpeer::error standard = fail_with([] { throw std::runtime_error("standard"); });
  CHECK(standard.throwable_type() == "jpeer.peer.CallbackException");
  CHECK(standard.java()->message.find("standard") != std::string::npos);
  CHECK(fail_with([] { throw 5; }).throwable_type() == "jpeer.peer.CallbackException");
  jpeer::error wrong =
      thrown_by([&] { list.call("forEach", java.lambda([](int) {})); }); /* a String is not an int */
  CHECK(wrong.throwable_type() == "jpeer.peer.CallbackException");
  jpeer::object taken;
  jpeer::object nested = java.create("java.util.ArrayList", std::vector<jpeer::value>{jpeer::list({1, 2})});
  nested.call("forEach", java.lambda([&](jpeer::object each) { taken = std::move(each); }));
  CHECK(taken.as_type("java.util.List").call("size").as<int>() == 2);
}

/* Values hold the callbacks in them. */
void callbacks_in_values(jpeer::client &java)
{
  jpeer::object list = java.create("java.util.ArrayList", std::vector<std::string>{"pear", "fig"});
  const auto by_name = [](const std::string &left, const std::string &right) { return left.compare(right); };
  jpeer::value comparator = java.lambda(by_name);
  list.call("sort", comparator);
  CHECK(list.call("toString").as<std::string>() == "[fig, pear]");
  std::vector<jpeer::value> many;
  many.push_back(java.lambda(by_name));
  many.push_back(
      java.lambda([](const std::string &left, const std::string &right) { return right.compare(left); }));
  list.call("sort", many[1].as_type("java.util.Comparator"));
  CHECK(list.call("toString").as<std::string>() == "[pear, fig]");
  jpeer::object given =
      java.create("java.util.ArrayList", std::vector<jpeer::value>{many[0].as_type("java.util.Comparator")});
  many.clear();
  CHECK(given.call("size").as<int>() == 1);
  jpeer::object map = java.create("java.util.HashMap");
  map.call("computeIfAbsent", "key", java.lambda([&](const std::string &) {
    return jpeer::value(java.lambda(by_name)).as_type("java.util.Comparator");
  }));
  list.call("sort", map.call("get", "key").as<jpeer::object>());
  CHECK(list.call("toString").as<std::string>() == "[fig, pear]");
}

/* A function that answers after it has returned. */
void answers_later(jpeer::client &java)
{
  std::vector<std::thread> answering;
  const auto ask = [&](jpeer::callback_function function) {
    jpeer::object map = java.create("java.util.HashMap");
    return map.call("computeIfAbsent", "key", java.callback(std::move(function))).as<std::string>();
  };
  CHECK(ask([&](const jpeer::incoming &call) {
          answering.emplace_back([open = call.later(), key = call[0].as<std::string>()]() mutable {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            CHECK(is_refused([&] { open.give(jpeer::value("\xff")); })); /* the call is still open */
            open.give(key + "!");
            CHECK(is_refused([&] { open.give("again"); }));
          });
          CHECK(is_refused([&] { call.later(); }));
          return jpeer::value("not used");
        }) == "key!");
  CHECK(ask([](const jpeer::incoming &call) {
          call.later().give("at once");
          return jpeer::value();
        }) == "at once");
  const auto fail = [&](jpeer::callback_function function) {
    return thrown_by([&] { ask(std::move(function)); });
  };
  jpeer::error dropped = fail([](const jpeer::incoming &call) {
    call.later();
    return jpeer::value();
  });
  CHECK(dropped.java()->message.find("without an answer") != std::string::npos);
  jpeer::error later = fail([&](const jpeer::incoming &call) {
    answering.emplace_back([open = call.later()]() mutable {
      open.fail(std::make_exception_ptr(jpeer::error("java.lang.IllegalStateException", "late")));
    });
    return jpeer::value();
  });
  CHECK(later.throwable_type() == "java.lang.IllegalStateException" && later.java()->message == "late");
  jpeer::object throwable = java.create("java.lang.ArithmeticException", "held");
  jpeer::error held = fail([&](const jpeer::incoming &call) {
    call.later().fail(throwable);
    return jpeer::value();
  });
  CHECK(held.throwable_type() == "java.lang.ArithmeticException" && held.java()->message == "held");
  std::optional<jpeer::open_call> open;
  jpeer::error thrown = fail([&](const jpeer::incoming &call) -> jpeer::value {
    open = call.later();
    throw std::runtime_error("after all");
  });
  CHECK(thrown.java()->message.find("after all") != std::string::npos);
  CHECK(is_refused([&] { open->give(1); }));
  for (std::thread &each : answering)
    each.join();
}

/* A callback of one of Java's own threads runs in process(). */
void process_call(jpeer::client &java, const std::function<void(const jpeer::incoming &)> &function)
{
  bool has_run = false;
  jpeer::callback runnable = java.callback(
      [&](const jpeer::incoming &call) {
        function(call);
        has_run = true;
        return jpeer::value();
      },
      {"java.lang.Runnable"});
  java.create("java.lang.Thread", runnable).call("start");
  pollfd ready = {java.descriptor(), POLLIN, 0};
  while (!has_run && poll(&ready, 1, 30000) == 1)
    java.process();
  CHECK(has_run);
}

/* A call that is still open when its client ends. */
void answers_too_late(const std::string &url)
{
  std::optional<jpeer::open_call> open;
  std::optional<jpeer::client> java(url);
  process_call(*java, [&](const jpeer::incoming &call) { open = call.later(); });
  CHECK(!open->id().empty());
  java.reset();
  CHECK(thrown_by([&] { open->give(jpeer::value()); }).status() == JP_CLIENT_CLOSED);
  CHECK(is_refused([&] { open->give(jpeer::value()); }));
}

void threads(jpeer::client &java)
{
  std::vector<std::thread> running;
  for (int t = 0; t < 4; t++)
    running.emplace_back([&java, t] {
      for (int i = 0; i < 200; i++)
        CHECK(java.call("java.lang.Math", "max", i, t).as<int>() == (i > t ? i : t));
    });
  for (std::thread &each : running)
    each.join();
}

void launches(const char *program)
{
  jpeer::launch_options options;
  options.program = program;
  options.options = {"--rpc-allow", "java.lang.Math"};
  jpeer::peer peer = jpeer::launch(options);
  CHECK(peer.client().call("java.lang.Math", "max", 5, 3).as<int>() == 5);
  jpeer::object none;
  CHECK(thrown_by([&] { peer.client().get("java.lang.System", "out"); }).status() == JP_CLIENT_REMOTE);
  CHECK(jpeer::client(peer.url()).call("java.lang.Math", "abs", -1).as<int>() == 1 && peer.process_id() > 0);
  jpeer::peer moved = std::move(peer);
  CHECK(is_refused([&] { peer.stop(); }) && is_refused([&] { peer.url(); }));
  jpeer::chain chain = moved.client().chain();
  CHECK(moved.stop() == 0 && moved.stop() == 0);
  CHECK(is_refused([&] { moved.client(); }));
  CHECK(thrown_by([&] { chain.send(); }).status() == JP_CLIENT_CLOSED);
  std::atomic<int> asked = 0;
  options.options = {"--rpc-default-action", "ALLOW"};
  options.client.interrupted = [&] { return ++asked > 1; };
  jpeer::peer hooked = jpeer::launch(options);
  CHECK(thrown_by([&] { hooked.client().call("java.lang.Thread", "sleep", std::int64_t{60000}); }).status() ==
        JP_CLIENT_INTERRUPTED);
  options.client.interrupted = nullptr;
  hooked = jpeer::launch(options);
  std::thread waiting([&java = hooked.client()] {
    CHECK(thrown_by([&] { java.call("java.lang.Thread", "sleep", std::int64_t{60000}); }).status() ==
          JP_CLIENT_CLOSED);
  });
  await([&] { return jp_client_pending(hooked.client().raw()) > 0; }, "the thread did not call");
  (void)hooked.stop(1);
  waiting.join();
  options.program = "/nonexistent/jpeer";
  CHECK(thrown_by([&] { jpeer::launch(options); }).status() != JP_CLIENT_OK);
}

} // namespace

static void play_all(const std::string &url)
{
  {
    jpeer::client opened(url);
    jpeer::client java = std::move(opened);
    CHECK(thrown_by([&] { opened.call("java.lang.Math", "abs", 1); }).status() != JP_CLIENT_OK);
    macros_outlive_their_statement(java);
    macros_in_a_chain(java);
    numbers(java);
    numbers_that_do_not_fit(java);
    numbers_of_json_that_do_not_fit(java);
    characters(java);
    texts(java);
    collections(java);
    elements(java);
    unknown_classes(java);
    names_with_nuls(java);
    objects(java);
    errors(java);
    moved_from(java);
    chains(java);
    chains_keep_what_they_are_given(java);
    callbacks(java);
    callbacks_in_values(java);
    answers_later(java);
    threads(java);
  }
  handles_outlive_their_client(url);
  ends_while_a_thread_waits(url, false);
  ends_while_a_thread_waits(url, true);
  answers_too_late(url);
  timeouts(url);
  tokens(url);
}

int main(int count, char **words)
try {
  if (count == 2)
    play_all(words[1]);
  else if (count == 3 && std::string(words[1]) == "launch")
    launches(words[2]);
  else
    return 2;
  return 0;
} catch (const std::exception &thrown) {
  std::fprintf(stderr, "%s\n", thrown.what());
  return 1;
}
