/*
 * jpeer/client.hpp and the macros of jpeer/request.h in C++ against a peer: each scenario is a function, and all are
 * run. test_cxx.py builds this with each compiler, optimised and with sanitizers.
 *
 * usage: cxx_scenarios URL JPEER
 */
#include <jpeer/client.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
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

/* What a function throws; it has to. */
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

/* ---- jpeer/request.h ---- */

/* The request leaves the function that its arguments were written in. */
auto make_max(int left, int right)
{
  return jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(left), jp_int(right)));
}

/* Writes over what the stack above this frame held. */
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
  first = second; /* a copy has arguments of its own */
  CHECK(ask_integer(java.raw(), &first) == 70);
  CHECK((&first)->args != (&second)->args);
  std::vector<decltype(first)> many;
  for (int i = 0; i < 100; i++)
    many.push_back(jp_build_class_method_call("java.lang.Math", "max", JP_ARGUMENTS(jp_int(i), jp_int(50))));
  overwrite_stack();
  for (int i = 0; i < 100; i++)
    CHECK(ask_integer(java.raw(), &many[i]) == (i < 50 ? 50 : i));
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
  CHECK(list.fetch(10).json().kind == JP_JSON_OBJECT);
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
  CHECK(thrown_by([&] { java.request(own).as<std::vector<std::string>>(); }).status() == JP_CLIENT_INVALID);
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

void handles_outlive_their_client(const std::string &url)
{
  std::optional<jpeer::client> java(url);
  jpeer::object list = java->create("java.util.ArrayList");
  jpeer::answer text = java->call("java.lang.String", "valueOf", 5);
  jpeer::callback function = java->lambda([](int) { return 1; });
  java.reset();
  CHECK(text.as<std::string>() == "5");
  CHECK(thrown_by([&] { list.call("size"); }).status() == JP_CLIENT_CLOSED);
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
        list.call("add", "nested"); /* runs on the Java thread that waits for this */
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
      thrown_by([&] { list.call("forEach", java.lambda([](int) {})); }); /* a String is no int */
  CHECK(wrong.throwable_type() == "jpeer.peer.CallbackException");
  jpeer::object taken;
  jpeer::object nested = java.create("java.util.ArrayList", std::vector<jpeer::value>{jpeer::list({1, 2})});
  nested.call("forEach", java.lambda([&](jpeer::object each) { taken = std::move(each); }));
  CHECK(taken.as_type("java.util.List").call("size").as<int>() == 2);
}

/* A function of a thread of Java's own runs in process(). */
void processes(const std::string &url)
{
  jpeer::client java(url);
  bool has_run = false;
  jpeer::object thread = java.create("java.lang.Thread", java.callback(
                                                             [&](const jpeer::incoming &) {
                                                               has_run = true;
                                                               return jpeer::value();
                                                             },
                                                             {"java.lang.Runnable"}));
  thread.call("start");
  pollfd ready = {java.descriptor(), POLLIN, 0};
  while (!has_run && poll(&ready, 1, 30000) == 1)
    java.process();
  CHECK(has_run);
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
  CHECK(moved.stop() == 0);
  CHECK(thrown_by([&] { moved.client(); }).status() == JP_CLIENT_INVALID);
  options.program = "/nonexistent/jpeer";
  CHECK(thrown_by([&] { jpeer::launch(options); }).status() != JP_CLIENT_OK);
}

} // namespace

int main(int count, char **words)
{
  if (count < 3)
    return 2;
  const std::string url = words[1];
  {
    jpeer::client opened(url);
    jpeer::client java = std::move(opened);
    CHECK(thrown_by([&] { opened.call("java.lang.Math", "abs", 1); }).status() != JP_CLIENT_OK);
    macros_outlive_their_statement(java);
    macros_in_a_chain(java);
    numbers(java);
    texts(java);
    collections(java);
    objects(java);
    errors(java);
    chains(java);
    callbacks(java);
    threads(java);
  }
  handles_outlive_their_client(url);
  timeouts(url);
  processes(url);
  launches(words[2]);
  return 0;
}
