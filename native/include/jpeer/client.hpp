#ifndef JPEER_PUBLIC_CLIENT_HPP
#define JPEER_PUBLIC_CLIENT_HPP
/*
 * libjpeer-client for C++17, in this header alone: calls Java objects that a jpeer peer holds.
 *
 *   jpeer::client java("ws+unix:/run/user/1000/app.sock");
 *   int largest = java.call("java.lang.Math", "max", 5, 3).as<int>();
 *   jpeer::object list = java.create("java.util.ArrayList");
 *   list.call("add", "fig");
 *   list.call("sort", java.lambda([](std::string a, std::string b) { return a.compare(b); }));
 *
 * Threads: any number of threads may use a client, its objects and callbacks at once; an answer, a chain and a value
 * are used by one thread at a time.
 *
 * Ownership: client, peer, object, answer, chain and callback are handles that only move, and end what they name. The
 * client's connection ends with it; objects and callbacks may be destroyed later, but are of no more use. What a
 * handle that was moved from is asked for throws. raw() gives the handle of jpeer/client.h, for what is not here.
 *
 * Errors: what fails throws jpeer::error, which has the status, and the code and the Java throwable where the peer
 * answered with an error.
 */
#include "jpeer/client.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace jpeer
{

/* ---- errors ---- */

/* A throwable of Java. */
struct throwable {
  std::string type; /* "" where the peer answered with an error of its own, such as a denial */
  std::string message;
  std::vector<std::string> stack; /* innermost first */
  std::shared_ptr<const throwable> cause;
};

/* what() is a line about it. */
class error : public std::runtime_error
{
public:
  error(jp_client_status status, const std::string &text) : std::runtime_error(text), status_(status)
  {
  }
  /* Thrown by a callback: Java gets a new throwable of this class. */
  error(const std::string &throwable_type, const std::string &message)
      : std::runtime_error(throwable_type + ": " + message), status_(JP_CLIENT_REMOTE)
  {
    java_ = std::make_shared<const throwable>(throwable{throwable_type, message, {}, nullptr});
  }
  error(const jp_client_error &why, const jp_answer *answer)
      : std::runtime_error(why.text), status_(why.status), code_(jp_answer_error_code(answer))
  {
    if (jp_answer_kind(answer) == JP_ANSWER_ERROR)
      java_ = copy(jp_answer_throwable(answer));
  }

  jp_client_status status() const noexcept
  {
    return status_;
  }
  /* The code of JSON-RPC (docs/protocol.md, "Errors"); 0 where the peer has not answered. */
  int code() const noexcept
  {
    return code_;
  }
  /* The class of the throwable: "java.lang.ArithmeticException"; "" where there is none. */
  const std::string &throwable_type() const noexcept
  {
    static const std::string none;
    return java_ ? java_->type : none;
  }
  /* NULL where the peer has not answered. */
  const throwable *java() const noexcept
  {
    return java_.get();
  }

private:
  static std::shared_ptr<const throwable> copy(const jp_throwable *from)
  {
    if (from == nullptr)
      return nullptr;
    auto made = std::make_shared<throwable>();
    made->type = from->type == nullptr ? "" : from->type;
    made->message = from->message == nullptr ? "" : from->message;
    made->stack.assign(from->stack, from->stack + from->stack_count);
    made->cause = copy(from->cause);
    return made;
  }

  jp_client_status status_;
  int code_ = 0;
  std::shared_ptr<const throwable> java_;
};

class client;
class object;
class callback;
class value;

/* ---- the connection that handles share ---- */

namespace detail
{

[[noreturn]] inline void refuse(const std::string &text)
{
  throw error(JP_CLIENT_INVALID, text);
}

struct connection {
  jp_client *client;
  bool is_owned; /* by the client; else by a peer */
  int timeout_ms;

  connection(jp_client *client_, bool is_owned_, int timeout_ms_)
      : client(client_), is_owned(is_owned_), timeout_ms(timeout_ms_)
  {
  }
  connection(const connection &) = delete;
  connection &operator=(const connection &) = delete;
  ~connection()
  {
    if (is_owned)
      jp_client_close(client);
  }
};

/* What objects, answers and callbacks keep: the connection, as long as its client lives. */
using link = std::weak_ptr<connection>;

inline std::shared_ptr<connection> open_link(const link &kept)
{
  auto open = kept.lock();
  if (!open)
    throw error(JP_CLIENT_CLOSED, "the client was closed, or this handle was moved from");
  return open;
}

struct release_ref {
  void operator()(jp_ref *ref) const
  {
    jp_ref_release(ref);
  }
};
struct free_answer {
  void operator()(jp_answer *answer) const
  {
    jp_answer_free(answer);
  }
};
struct destroy_chain {
  void operator()(jp_chain *chain) const
  {
    jp_chain_destroy(chain);
  }
};
struct release_callback {
  void operator()(jp_callback *made) const
  {
    jp_callback_release(made);
  }
};

/* Java's name of the type that holds all values of T; NULL: there is none. */
template <class T> constexpr const char *primitive_name()
{
  using plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<plain, bool>)
    return "boolean";
  else if constexpr (std::is_same_v<plain, char> || std::is_same_v<plain, char16_t>)
    return "char";
  else if constexpr (std::is_same_v<plain, float>)
    return "float";
  else if constexpr (std::is_same_v<plain, double>)
    return "double";
  else if constexpr (!std::is_integral_v<plain>)
    return nullptr;
  else if constexpr (std::is_signed_v<plain>)
    return sizeof(plain) == 1 ? "byte" : sizeof(plain) == 2 ? "short" : sizeof(plain) == 4 ? "int" : "long";
  else
    return sizeof(plain) == 1 ? "short" : sizeof(plain) == 2 ? "int" : sizeof(plain) == 4 ? "long" : nullptr;
}

/* Java's name of an array whose elements lie in memory as those of a vector of T; NULL: there is none. */
template <class T> constexpr const char *array_name()
{
  if constexpr (std::is_same_v<T, char16_t>)
    return "char[]";
  else if constexpr (std::is_same_v<T, float>)
    return "float[]";
  else if constexpr (std::is_same_v<T, double>)
    return "double[]";
  else if constexpr (std::is_same_v<T, std::byte> ||
                     (std::is_integral_v<T> && sizeof(T) == 1 && !std::is_same_v<T, bool>))
    return "byte[]";
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 2 ? "short[]" : sizeof(T) == 4 ? "int[]" : "long[]";
  else
    return nullptr;
}

template <class T> struct is_vector : std::false_type {
};
template <class T> struct is_vector<std::vector<T>> : std::true_type {
};
template <class T> struct is_optional : std::false_type {
};
template <class T> struct is_optional<std::optional<T>> : std::true_type {
};
template <class T> constexpr bool is_no_such_type = false;

} // namespace detail

/* ---- values for Java ---- */

/*
 * A value for Java, made from what C++ has: bool, integers (int8_t: byte, int16_t: short, int32_t: int, int64_t: long;
 * unsigned: the next longer), float, double, char and char16_t (char), texts in UTF-8 (String), nullptr (null), objects
 * and callbacks of jpeer, a vector of numbers (an array: int[]; of bytes: byte[]), other vectors (List), a map with
 * strings as keys (Map), an optional. It holds what it was made from, so that it can be kept and copied.
 */
class value
{
public:
  value() : raw_(jp_null(nullptr))
  {
  }
  value(std::nullptr_t) : value()
  {
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> value(T given)
  {
    static_assert(detail::primitive_name<T>() != nullptr,
                  "Java has no type that holds all values of this one");
    if constexpr (std::is_same_v<T, bool>)
      raw_ = jp_boolean(given);
    else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, char16_t>)
      set_char(static_cast<char16_t>(given), std::is_same_v<T, char>);
    else if constexpr (std::is_floating_point_v<T>)
      raw_ = jp_double(given);
    else
      raw_ = jp_long(given);
    raw_.type = detail::primitive_name<T>();
  }
  value(std::string_view text)
  {
    set_text("java.lang.String", text);
  }
  value(const std::string &text) : value(std::string_view(text))
  {
  }
  value(const char *text) : value()
  {
    if (text == nullptr)
      raw_.type = "java.lang.String";
    else
      set_text("java.lang.String", text);
  }
  value(const object &given);
  value(const callback &given);
  template <class T> value(const std::optional<T> &given) : value()
  {
    if (given)
      *this = value(*given);
  }
  template <class T> value(const std::vector<T> &items)
  {
    if constexpr (std::is_same_v<T, bool>) {
      auto copy = std::make_shared<std::vector<unsigned char>>(items.begin(), items.end());
      raw_ = jp_array("boolean[]", copy->data(), copy->size());
      held_ = std::move(copy);
    } else if constexpr (detail::array_name<T>() != nullptr) {
      auto copy = std::make_shared<std::vector<T>>(items);
      raw_ = jp_array(detail::array_name<T>(), copy->data(), copy->size());
      held_ = std::move(copy);
    } else {
      set_list(nullptr, std::vector<value>(items.begin(), items.end()));
    }
  }
  template <class T> value(const std::map<std::string, T> &entries)
  {
    struct content {
      std::map<std::string, value> values;
      std::vector<jp_entry> entries;
    };
    auto made = std::make_shared<content>();
    for (const auto &[key, given] : entries)
      made->values.emplace(key, given);
    for (const auto &[key, given] : made->values)
      made->entries.push_back(jp_entry{jp_text{key.data(), key.size()}, given.raw()});
    raw_ = jp_map(nullptr, made->entries.data(), made->entries.size());
    held_ = std::move(made);
  }

  /* With another declared type, as a cast: chooses among overloads. value("2024-02-29").as_type("java.time.LocalDate"). */
  value as_type(std::string_view type) const
  {
    value made = *this;
    made.type_ = std::make_shared<const std::string>(type);
    made.raw_.type = made.type_->c_str();
    return made;
  }
  /* Borrowed from this value. */
  const jp_argument &raw() const noexcept
  {
    return raw_;
  }

private:
  friend value list(std::initializer_list<value> items);
  friend value named(std::string_view name);

  void set_text(const char *type, std::string_view text)
  {
    auto copy = std::make_shared<const std::string>(text);
    raw_ = jp_text_argument(jp_text{copy->data(), copy->size()});
    raw_.type = type;
    held_ = std::move(copy);
  }

  /* A unit of UTF-16 in UTF-8; lone surrogates are three bytes each. */
  void set_char(char16_t unit, bool is_byte)
  {
    enum { ONE_BYTE = 0x80, TWO_BYTES = 0x800 };
    std::string text;
    if (unit < ONE_BYTE) {
      text = {static_cast<char>(unit)};
    } else if (is_byte) {
      detail::refuse("a char beyond ASCII is only a part of a character: give a char16_t");
    } else if (unit < TWO_BYTES) {
      text = {static_cast<char>(0xC0 | unit >> 6), static_cast<char>(0x80 | (unit & 0x3F))};
    } else {
      text = {static_cast<char>(0xE0 | unit >> 12), static_cast<char>(0x80 | (unit >> 6 & 0x3F)),
              static_cast<char>(0x80 | (unit & 0x3F))};
    }
    set_text("char", text);
  }

  void set_list(const char *type, std::vector<value> values)
  {
    struct content {
      std::vector<value> values;
      std::vector<jp_argument> items;
    };
    auto made = std::make_shared<content>();
    made->values = std::move(values);
    for (const value &each : made->values)
      made->items.push_back(each.raw());
    raw_ = jp_list(type, made->items.data(), made->items.size());
    held_ = std::move(made);
  }

  jp_argument raw_;
  std::shared_ptr<const void> held_; /* what raw_ points to; never changed, so that copies share it */
  std::shared_ptr<const std::string> type_;
};

/* A List of values of any types: list({1, "two", nullptr}); an array by list({...}).as_type("java.lang.Object[]"). */
inline value list(std::initializer_list<value> items)
{
  value made;
  made.set_list(nullptr, std::vector<value>(items));
  return made;
}

/* In a chain: the result of the step of that name. */
inline value named(std::string_view name)
{
  value made;
  made.set_text(nullptr, name);
  made.raw_.kind = JP_ARGUMENT_NAMED;
  return made;
}

namespace detail
{

/* The arguments of one call: the values, and the array that a request borrows. */
template <std::size_t COUNT> struct arguments {
  template <class... T> explicit arguments(const T &...given) : values{value(given)...}
  {
    for (std::size_t i = 0; i < COUNT; i++)
      items[i] = values[i].raw();
  }
  arguments(const arguments &) = delete;
  arguments &operator=(const arguments &) = delete;

  value values[COUNT];
  jp_argument items[COUNT];
};

template <> struct arguments<0> {
  const jp_argument *items = nullptr;
};

template <class... T> using arguments_of = arguments<sizeof...(T)>;

} // namespace detail

/* ---- objects ---- */

class answer;

/* A handle of an object in the peer, which is released there when the last handle is gone. */
class object
{
public:
  object() = default;
  object(jp_ref *owned, detail::link connection) : ref_(owned), connection_(std::move(connection))
  {
  }

  /* The class, or what as_type has said. */
  std::string type() const
  {
    return type_.empty() ? jp_ref_type(raw()) : type_;
  }
  std::uint32_t number() const
  {
    return jp_ref_number(raw());
  }
  explicit operator bool() const noexcept
  {
    return ref_ != nullptr;
  }

  /* Another handle of the same object, whose members are those of that class or interface: where the class itself is
   * not public, or the policy names the interface. */
  object as_type(std::string_view type) const
  {
    object made(jp_ref_keep(raw()), connection_);
    made.type_ = type;
    return made;
  }
  object copy() const
  {
    object made(jp_ref_keep(raw()), connection_);
    made.type_ = type_;
    return made;
  }

  template <class... T> answer call(const std::string &method, const T &...arguments) const;
  answer get(const std::string &field) const;
  void put(const std::string &field, const value &given) const;
  /* The next elements of an iterator, collection, map, array, String or stream, at most max: JSON. */
  answer fetch(std::int64_t max, std::int64_t from = 0) const;

  jp_ref *raw() const
  {
    if (!ref_)
      detail::refuse("this object was moved from, or never set");
    return ref_.get();
  }

private:
  std::unique_ptr<jp_ref, detail::release_ref> ref_;
  detail::link connection_;
  std::string type_;
};

inline value::value(const object &given) : raw_(jp_object(given.raw()))
{
  held_ = std::shared_ptr<jp_ref>(jp_ref_keep(given.raw()), detail::release_ref());
}

/* ---- answers ---- */

namespace detail
{

[[noreturn]] inline void refuse_conversion(const char *type, const std::string &text)
{
  enum { SHOWN = 100 };
  refuse(std::string("a result of type ") + (*type == '\0' ? "void" : type) +
         " is not what was asked for: " + (text.size() > SHOWN ? text.substr(0, SHOWN) + "..." : text));
}

template <class T> bool fit(std::int64_t read, T &out)
{
  if constexpr (std::is_unsigned_v<T>) {
    if (read < 0 || static_cast<std::uint64_t>(read) > std::numeric_limits<T>::max())
      return false;
  } else if (read < std::numeric_limits<T>::min() || read > std::numeric_limits<T>::max()) {
    return false;
  }
  out = static_cast<T>(read);
  return true;
}

/* One value of JSON. False: it is no such value. */
template <class T> bool read_json(jp_json from, T &out)
{
  if constexpr (std::is_same_v<T, bool>) {
    return jp_json_boolean(from, &out);
  } else if constexpr (std::is_integral_v<T>) {
    std::int64_t read;
    return jp_json_integer(from, &read) && fit(read, out);
  } else if constexpr (std::is_same_v<T, std::byte>) {
    std::int8_t read; /* as Java's bytes are */
    if (!read_json(from, read))
      return false;
    out = static_cast<std::byte>(read);
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    double read;
    if (!jp_json_number(from, &read))
      return false;
    out = static_cast<T>(read);
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    std::size_t length = jp_json_string(from, nullptr, 0);
    if (length == SIZE_MAX)
      return false;
    out.resize(length + 1);
    jp_json_string(from, out.data(), length + 1);
    out.resize(length);
    return true;
  } else if constexpr (is_optional<T>::value) {
    if (from.kind == JP_JSON_NULL) {
      out.reset();
      return true;
    }
    return read_json(from, out.emplace());
  } else {
    static_assert(is_vector<T>::value, "as<T>: there is no such conversion");
    if (from.kind != JP_JSON_ARRAY)
      return false;
    jp_json_cursor cursor = jp_json_enter(from);
    jp_json element;
    out.clear();
    while (jp_json_next(&cursor, nullptr, &element)) {
      typename T::value_type read{};
      if (!read_json(element, read))
        return false;
      out.push_back(std::move(read));
    }
    return true;
  }
}

} // namespace detail

/* An answer that is somebody else's: a chain's, or a call's from Java. Borrowed from that. */
class answer_view
{
public:
  answer_view(const jp_answer *answer, detail::link connection)
      : view_(answer), connection_(std::move(connection))
  {
  }

  enum jp_answer_kind kind() const noexcept
  {
    return jp_answer_kind(view_);
  }
  bool is_void() const noexcept
  {
    return kind() == JP_ANSWER_VOID;
  }
  bool is_null() const noexcept
  {
    return kind() == JP_ANSWER_NULL;
  }
  /* "int", "java.util.ArrayList"; "" where there is none. */
  const char *type() const noexcept
  {
    return jp_answer_type(view_);
  }
  /* The value as text, "" where there is none; borrowed. */
  std::string_view text() const &noexcept
  {
    jp_text read = jp_answer_text(view_);
    return read.data == nullptr ? std::string_view() : std::string_view(read.data, read.len);
  }
  std::string_view text() const && = delete; /* the text ends with the answer: as<std::string>() copies it */
  /* The JSON of FETCH, DESCRIBE and own names; borrowed. */
  jp_json json() const noexcept
  {
    return jp_answer_json(view_);
  }

  /*
   * The value as bool, a number that holds it, std::string, object, a vector of numbers (an array that has come with its
   * elements), or a vector or number of JSON; as an optional, null is empty. error: it is no such value.
   */
  template <class T> T as() const
  {
    if constexpr (detail::is_optional<T>::value) {
      return is_null() || json().kind == JP_JSON_NULL ? T() : T(as<typename T::value_type>());
    } else if constexpr (std::is_same_v<T, object>) {
      jp_ref *ref = jp_answer_ref(view_);
      if (ref == nullptr)
        refuse();
      return object(jp_ref_keep(ref), connection_);
    } else if constexpr (std::is_same_v<T, answer_view>) {
      return *this;
    } else {
      T read{};
      if (!read_value(read))
        refuse();
      return read;
    }
  }

  /* NULL where there is none, as of a step without a result. */
  const jp_answer *raw() const noexcept
  {
    return view_;
  }

protected:
  const jp_answer *view_;
  detail::link connection_;

private:
  [[noreturn]] void refuse() const
  {
    jp_text read = kind() == JP_ANSWER_JSON ? json().text : jp_answer_text(view_);
    detail::refuse_conversion(type(), read.data == nullptr ? is_null() ? "null" : ""
                                                           : std::string(read.data, read.len));
  }

  template <class T> bool read_value(T &out) const
  {
    if (kind() == JP_ANSWER_JSON)
      return detail::read_json(json(), out);
    if constexpr (std::is_same_v<T, bool>) {
      return jp_answer_boolean(view_, &out);
    } else if constexpr (std::is_integral_v<T>) {
      std::int64_t read;
      return jp_answer_integer(view_, &read) && detail::fit(read, out);
    } else if constexpr (std::is_floating_point_v<T>) {
      double read;
      if (!jp_answer_number(view_, &read))
        return false;
      out = static_cast<T>(read);
      return true;
    } else if constexpr (std::is_same_v<T, std::string>) {
      jp_text read = jp_answer_text(view_);
      if (read.data == nullptr)
        return false;
      out.assign(read.data, read.len);
      return true;
    } else {
      static_assert(detail::is_vector<T>::value, "as<T>: there is no such conversion");
      return read_vector(out);
    }
  }

  template <class T> bool read_vector(std::vector<T> &out) const
  {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<unsigned char> read;
      if (!read_array("boolean[]", read))
        return false;
      out.assign(read.begin(), read.end());
      return true;
    } else if constexpr (detail::array_name<T>() != nullptr) {
      if (read_array(detail::array_name<T>(), out))
        return true;
    }
    jp_json array; /* "[\"a\",\"b\"]" of a String[] */
    return jp_json_parse(jp_answer_text(view_), 2, &array, nullptr) == JP_JSONRPC_OK &&
           detail::read_json(array, out);
  }

  template <class T> bool read_array(const char *type, std::vector<T> &out) const
  {
    std::size_t count = jp_answer_array(view_, type, nullptr, 0);
    if (count == SIZE_MAX)
      return false;
    out.resize(count);
    return jp_answer_array(view_, type, out.data(), count) == count;
  }
};

class answer : public answer_view
{
public:
  answer(jp_answer *owned, detail::link connection)
      : answer_view(owned, std::move(connection)), answer_(owned)
  {
  }
  answer(answer &&other) noexcept : answer_view(other), answer_(std::move(other.answer_))
  {
    other.view_ = nullptr;
  }
  answer &operator=(answer &&other) noexcept
  {
    answer_view::operator=(other);
    answer_ = std::move(other.answer_);
    if (this != &other)
      other.view_ = nullptr;
    return *this;
  }
  /* For functions of jpeer/client.h that take it, such as jp_answer_take_ref. */
  jp_answer *raw() const noexcept
  {
    return answer_.get();
  }

private:
  std::unique_ptr<jp_answer, detail::free_answer> answer_;
};

namespace detail
{

inline answer send(const link &kept, const jp_request &request)
{
  auto open = open_link(kept);
  jp_answer *came = nullptr;
  jp_client_error why;
  jp_client_status status = jp_client_call(open->client, &request, open->timeout_ms, &came, &why);
  answer owned(came, kept);
  if (status != JP_CLIENT_OK)
    throw error(why, came);
  return owned;
}

} // namespace detail

template <class... T> answer object::call(const std::string &method, const T &...arguments) const
{
  detail::arguments_of<T...> made{arguments...};
  return detail::send(connection_, jp_build_instance_method_call(type().c_str(), method.c_str(),
                                                                 jp_object(raw()), made.items, sizeof...(T)));
}

inline answer object::get(const std::string &field) const
{
  return detail::send(connection_,
                      jp_build_instance_field_get(type().c_str(), jp_object(raw()), field.c_str()));
}

inline void object::put(const std::string &field, const value &given) const
{
  detail::send(connection_,
               jp_build_instance_field_put(type().c_str(), jp_object(raw()), field.c_str(), &given.raw()));
}

inline answer object::fetch(std::int64_t max, std::int64_t from) const
{
  return detail::send(connection_, jp_build_fetch(jp_object(raw()), max, from));
}

/* ---- callbacks ---- */

/* One call from Java; borrowed while its function runs. */
class incoming
{
public:
  incoming(jp_callback_call *call, detail::link connection) : call_(call), connection_(std::move(connection))
  {
  }

  const char *interface_name() const noexcept
  {
    return jp_callback_interface(call_);
  }
  const char *method() const noexcept
  {
    return jp_callback_method(call_);
  }
  std::size_t size() const noexcept
  {
    return jp_callback_argument_count(call_);
  }
  answer_view operator[](std::size_t index) const
  {
    return {jp_callback_argument_at(call_, index), connection_};
  }
  jp_callback_call *raw() const noexcept
  {
    return call_;
  }

private:
  jp_callback_call *call_;
  detail::link connection_;
};

/* Gives what Java gets; of a void method a value() . What it throws reaches Java: an error with a throwable's class as
 * a new one of that class, everything else as a jpeer.peer.CallbackException. */
using callback_function = std::function<value(const incoming &)>;

/* An object that Java can have. It ends when it is destroyed and Java has no more of it. */
class callback
{
public:
  callback(jp_callback *owned) : callback_(owned)
  {
  }
  jp_callback *raw() const
  {
    if (!callback_)
      detail::refuse("this callback was moved from");
    return callback_.get();
  }

private:
  std::unique_ptr<jp_callback, detail::release_callback> callback_;
};

inline value::value(const callback &given) : raw_(jp_callback_argument(given.raw()))
{
}

namespace detail
{

struct callback_state {
  callback_function function;
  link connection;

  static void release(void *context)
  {
    delete static_cast<callback_state *>(context);
  }

  static void run(void *context, jp_callback_call *call)
  {
    const auto *state = static_cast<callback_state *>(context);
    jp_client_error why;
    jp_client_status status = JP_CLIENT_OK;
    try {
      value result = state->function(incoming(call, state->connection));
      status = jp_callback_return(call, &result.raw(), &why);
      if (status == JP_CLIENT_INVALID || status == JP_CLIENT_NO_MEMORY)
        (void)!jp_callback_throw(call, nullptr, why.text,
                                 nullptr); /* or Java is told that there was no answer */
    } catch (const error &thrown) {
      const throwable *java = thrown.java();
      bool has_class = java != nullptr && !java->type.empty();
      (void)!jp_callback_throw(call, has_class ? java->type.c_str() : nullptr,
                               has_class ? java->message.c_str() : thrown.what(), nullptr);
    } catch (const std::exception &thrown) {
      (void)!jp_callback_throw(call, nullptr, thrown.what(), nullptr);
    } catch (...) {
      (void)!jp_callback_throw(call, nullptr, "the callback threw what is no std::exception", nullptr);
    }
  }
};

template <class R, class... A, std::size_t... INDEX>
value call_with(const std::function<R(A...)> &function, const incoming &call, std::index_sequence<INDEX...>)
{
  if (call.size() != sizeof...(A))
    refuse(std::string(call.method()) + " has " + std::to_string(call.size()) + " arguments, the function " +
           std::to_string(sizeof...(A)));
  if constexpr (std::is_void_v<R>) {
    function(call[INDEX].template as<std::decay_t<A>>()...);
    return value();
  } else {
    return value(function(call[INDEX].template as<std::decay_t<A>>()...));
  }
}

template <class R, class... A> constexpr int arity_of(const std::function<R(A...)> &)
{
  return static_cast<int>(sizeof...(A));
}

template <class R, class... A> callback_function adapt(std::function<R(A...)> function)
{
  return [function = std::move(function)](const incoming &call) {
    return call_with(function, call, std::index_sequence_for<A...>());
  };
}

/* A NULL-terminated list of texts, which it borrows. */
inline std::vector<const char *> list_of_texts(const std::vector<std::string> &texts)
{
  std::vector<const char *> made;
  for (const std::string &text : texts)
    made.push_back(text.c_str());
  made.push_back(nullptr);
  return made;
}

} // namespace detail

/* ---- chains ---- */

/* Steps that need each other's results, sent as one batch. name "": the step's result is not needed. */
class chain
{
public:
  chain(jp_chain *owned, detail::link connection) : chain_(owned), connection_(std::move(connection))
  {
  }

  /* A new object, which the next steps are on. */
  template <class... T> chain &create(const std::string &name, const std::string &type, const T &...arguments)
  {
    detail::arguments_of<T...> made{arguments...};
    jp_chain_create_object(raw(), text_of(name), type.c_str(), made.items, sizeof...(T));
    return *this;
  }
  /* The next steps are on the result of that name; type "": as it was created. */
  chain &with(const std::string &name, const std::string &type = {})
  {
    jp_chain_with(raw(), name.c_str(), text_of(type));
    return *this;
  }
  /* The next steps are on that object, which has to live until the chain is sent. */
  chain &with(const object &on)
  {
    jp_chain_with_object(raw(), on.raw(), on.type().c_str());
    return *this;
  }
  template <class... T> chain &call(const std::string &name, const std::string &method, const T &...arguments)
  {
    detail::arguments_of<T...> made{arguments...};
    jp_chain_call(raw(), text_of(name), method.c_str(), made.items, sizeof...(T));
    return *this;
  }
  chain &get(const std::string &name, const std::string &field)
  {
    jp_chain_get(raw(), text_of(name), field.c_str());
    return *this;
  }
  chain &put(const std::string &field, const value &given)
  {
    jp_chain_put(raw(), field.c_str(), given.raw());
    return *this;
  }
  template <class... T>
  chain &call_static(const std::string &name, const std::string &type, const std::string &method,
                     const T &...arguments)
  {
    detail::arguments_of<T...> made{arguments...};
    jp_chain_call_static(raw(), text_of(name), type.c_str(), method.c_str(), made.items, sizeof...(T));
    return *this;
  }

  /* Throws where a step failed; the others have run. */
  void send()
  {
    auto open = detail::open_link(connection_);
    jp_client_error why;
    if (jp_chain_send(raw(), open->timeout_ms, &why) != JP_CLIENT_OK)
      throw error(why, jp_chain_failure(raw()));
  }
  /* What the step of that name gave, borrowed until the next send. error: there is no such step. */
  answer_view operator[](const std::string &name) const
  {
    const jp_answer *found = jp_chain_answer(raw(), name.c_str());
    if (found == nullptr)
      detail::refuse("the chain has no result named " + name);
    return {found, connection_};
  }

  jp_chain *raw() const
  {
    if (!chain_)
      detail::refuse("this chain was moved from");
    return chain_.get();
  }

private:
  static const char *text_of(const std::string &text)
  {
    return text.empty() ? nullptr : text.c_str();
  }

  std::unique_ptr<jp_chain, detail::destroy_chain> chain_;
  detail::link connection_;
};

/* ---- a connection ---- */

struct client_options {
  std::string peer_id;               /* a UUID that names the session; "": the connection's own */
  bool binary = false;               /* over ZeroMQ: binary messages */
  bool reconnects = false;           /* a call on a connection that has ended opens another one */
  int timeout_ms = JP_FOREVER;       /* of each call */
  int connect_timeout_ms = 0;        /* 0: 10,000 */
  std::size_t message_max = 0;       /* 0: 256 MiB */
  std::size_t pending_max = 0;       /* 0: 65,536 */
  std::function<bool()> interrupted; /* struct jp_client_config says when it is asked; it must not throw */
};

namespace detail
{

inline jp_client_config config_of(const client_options &options)
{
  jp_client_config config = JP_ZEROS;
  config.size = sizeof config;
  config.peer_id = options.peer_id.empty() ? nullptr : options.peer_id.c_str();
  config.binary = options.binary;
  config.reconnects = options.reconnects;
  config.connect_timeout_ms = options.connect_timeout_ms;
  config.message_max = options.message_max;
  config.pending_max = options.pending_max;
  return config;
}

} // namespace detail

class client
{
public:
  explicit client(const std::string &url, const client_options &options = {})
  {
    jp_client_config config = detail::config_of(options);
    if (options.interrupted) {
      interrupted_ = std::make_unique<std::function<bool()>>(options.interrupted);
      config.interrupted = [](void *context) { return (*static_cast<std::function<bool()> *>(context))(); };
      config.interrupted_context = interrupted_.get();
    }
    jp_client *opened;
    jp_client_error why;
    if (jp_client_open(url.c_str(), &config, &opened, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
    connection_ = std::make_shared<detail::connection>(opened, true, options.timeout_ms);
  }
  client(client &&) noexcept = default;
  client &operator=(client &&other) noexcept
  {
    connection_ = std::move(other.connection_); /* before the function that its waits ask */
    interrupted_ = std::move(other.interrupted_);
    return *this;
  }

  template <class... T>
  answer call(const std::string &type, const std::string &method, const T &...arguments) const
  {
    detail::arguments_of<T...> made{arguments...};
    return request(jp_build_class_method_call(type.c_str(), method.c_str(), made.items, sizeof...(T)));
  }
  /* `new` is a keyword. */
  template <class... T> object create(const std::string &type, const T &...arguments) const
  {
    detail::arguments_of<T...> made{arguments...};
    return request(jp_build_constructor_call(type.c_str(), made.items, sizeof...(T))).template as<object>();
  }
  answer get(const std::string &type, const std::string &field) const
  {
    return request(jp_build_static_field_get(type.c_str(), field.c_str()));
  }
  void put(const std::string &type, const std::string &field, const value &given) const
  {
    request(jp_build_static_field_put(type.c_str(), field.c_str(), &given.raw()));
  }
  /* Any request of jpeer/request.h, options included. */
  answer request(const jp_request &asked) const
  {
    return detail::send(connection_, asked);
  }

  jpeer::chain chain() const
  {
    jp_chain *made = jp_chain_create(raw());
    if (made == nullptr)
      throw error(JP_CLIENT_NO_MEMORY, "no memory for a chain");
    return {made, connection_};
  }

  /* A function that Java calls, as an object with these interfaces; none: the parameter that it is given to tells.
   * Function: of a callback_function's form. struct jp_callback_config says the rest, and where it runs. */
  jpeer::callback callback(callback_function function, const std::vector<std::string> &interfaces = {}) const
  {
    return make_callback(std::move(function), interfaces, -1);
  }
  /* The same of a function with parameters of its own, as as<T>() gives them: a lambda for a method of an interface
   * that has one. It chooses among overloads by the number of its parameters. */
  template <class F> jpeer::callback lambda(F function, const std::vector<std::string> &interfaces = {}) const
  {
    std::function made = std::move(function);
    const int arity = detail::arity_of(made);
    return make_callback(detail::adapt(std::move(made)), interfaces, arity);
  }

  /* Runs what Java asks while no thread waits for an answer; the descriptor can be read then. */
  void process() const
  {
    jp_client_error why;
    if (jp_client_process(raw(), &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
  }
  int descriptor() const
  {
    return jp_client_descriptor(raw());
  }

  jp_client *raw() const
  {
    if (!connection_)
      detail::refuse("this client was moved from");
    return connection_->client;
  }

private:
  friend class peer;
  client(jp_client *borrowed, int timeout_ms)
      : connection_(std::make_shared<detail::connection>(borrowed, false, timeout_ms))
  {
  }

  jpeer::callback make_callback(callback_function function, const std::vector<std::string> &interfaces,
                                int arity) const
  {
    auto state =
        std::make_unique<detail::callback_state>(detail::callback_state{std::move(function), connection_});
    std::vector<const char *> names = detail::list_of_texts(interfaces);
    jp_callback_config config = JP_ZEROS;
    config.size = sizeof config;
    config.interfaces = interfaces.empty() ? nullptr : names.data();
    config.has_arity = arity >= 0;
    config.arity = arity >= 0 ? arity : 0;
    config.function = detail::callback_state::run;
    config.released = detail::callback_state::release;
    config.context = state.get();
    jp_callback *made;
    jp_client_error why;
    if (jp_callback_create(raw(), &config, &made, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
    state.release(); /* `released` ends it */
    return made;
  }

  std::unique_ptr<std::function<bool()>> interrupted_; /* outlives the connection */
  std::shared_ptr<detail::connection> connection_;
};

/* ---- a peer of one's own ---- */

struct launch_options {
  std::string program; /* "": jpeer, as PATH finds it */
  std::string class_path;
  std::vector<std::string> jvm_options;
  std::vector<std::string> options; /* of jpeer run (docs/flags.md) */
  std::string main_class;           /* "": the peer waits for calls */
  std::vector<std::string> arguments;
  int start_timeout_ms = 0; /* 0: 30,000 */
  client_options client;    /* of its connection, without `interrupted` */
};

/* A child process; it is asked to end when this is destroyed, and killed after ten seconds. */
class peer
{
public:
  explicit peer(const launch_options &options = {})
  {
    const std::vector<const char *> jvm_options = detail::list_of_texts(options.jvm_options);
    const std::vector<const char *> peer_options = detail::list_of_texts(options.options);
    const std::vector<const char *> arguments = detail::list_of_texts(options.arguments);
    const jp_client_config connection = detail::config_of(options.client);
    jp_launch_config config = JP_ZEROS;
    config.size = sizeof config;
    config.program = options.program.empty() ? nullptr : options.program.c_str();
    config.class_path = options.class_path.empty() ? nullptr : options.class_path.c_str();
    config.jvm_options = jvm_options.data();
    config.options = peer_options.data();
    config.main_class = options.main_class.empty() ? nullptr : options.main_class.c_str();
    config.arguments = arguments.data();
    config.start_timeout_ms = options.start_timeout_ms;
    config.client = &connection;
    jp_client_error why;
    if (jp_launch(&config, &peer_, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
    client_ =
        std::unique_ptr<jpeer::client>(new jpeer::client(jp_peer_client(peer_), options.client.timeout_ms));
  }
  peer(peer &&other) noexcept : peer_(std::exchange(other.peer_, nullptr)), client_(std::move(other.client_))
  {
  }
  peer &operator=(peer &&other) noexcept
  {
    std::swap(peer_, other.peer_);
    std::swap(client_, other.client_);
    return *this;
  }
  ~peer()
  {
    stop();
  }

  /* Its connection, which ends with it. */
  jpeer::client &client() const
  {
    if (!client_)
      detail::refuse("this peer was stopped, or moved from");
    return *client_;
  }
  /* Where others connect: "ws+unix:/tmp/...". */
  const char *url() const
  {
    return jp_peer_url(raw());
  }
  int process_id() const
  {
    return jp_peer_process_id(raw());
  }
  /* Gives the status of waitpid. */
  int stop(int timeout_ms = 10000)
  {
    client_.reset();
    jp_peer *ended = std::exchange(peer_, nullptr);
    return ended == nullptr ? 0 : jp_peer_stop(ended, timeout_ms);
  }
  jp_peer *raw() const
  {
    if (peer_ == nullptr)
      detail::refuse("this peer was stopped, or moved from");
    return peer_;
  }

private:
  jp_peer *peer_ = nullptr;
  std::unique_ptr<jpeer::client> client_;
};

inline peer launch(const launch_options &options = {})
{
  return peer(options);
}

} // namespace jpeer

#endif
