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
 * Threads: any number of threads may use a client, its objects and callbacks at once; an answer, a chain and
 * a value are used by one thread at a time.
 *
 * Ownership: client, peer, object, answer, chain, callback and open_call are move-only handles; their
 * destructors release or close what they name. The connection ends with its client: waiting calls of other
 * threads then throw JP_CLIENT_CLOSED. Objects, chains and callbacks may be destroyed later, but not used.
 * Every function of a moved-from handle throws. raw() returns the handle of jpeer/client.h, for functions
 * that this header does not have.
 *
 * Errors: failures throw jpeer::error, with the status, and the code and the Java throwable if the peer
 * answered with an error. A result is never changed to fit: see answer::as.
 */
#include "jpeer/client.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
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

/* A Java throwable. */
struct throwable {
  std::string type; /* "" if the error is the peer's own, such as a denial */
  std::string message;
  std::vector<std::string> stack; /* innermost first */
  std::shared_ptr<const throwable> cause;
};

/* what() describes the error in one line. */
class error : public std::runtime_error
{
public:
  error(jp_client_status status, const std::string &text) : std::runtime_error(text), status_(status)
  {
  }
  /* To be thrown by a callback: Java gets a new throwable of this class. */
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
  /* The code of JSON-RPC (docs/protocol.md, "Errors"); 0 if the peer has not answered. */
  int code() const noexcept
  {
    return code_;
  }
  /* The class of the throwable: "java.lang.ArithmeticException"; "" if there is none. */
  std::string throwable_type() const
  {
    return java_ ? java_->type : std::string();
  }
  /* NULL if the peer has not answered; borrowed from this error and its copies. */
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

/* ---- the shared connection ---- */

namespace detail
{

[[noreturn]] inline void refuse(const std::string &text)
{
  throw error(JP_CLIENT_INVALID, text);
}

/* A name for a C function, borrowed. A NUL inside would cut it. */
inline const char *name_of(const std::string &name)
{
  if (name.find('\0') != std::string::npos)
    refuse("a name has a NUL in it: " + name.substr(0, name.find('\0')));
  return name.c_str();
}

inline const char *name_or_null(const std::string &name)
{
  return name.empty() ? nullptr : name_of(name);
}

struct release_callback {
  void operator()(jp_callback *made) const
  {
    jp_callback_release(made);
  }
};

/* A client of jpeer/client.h, and state for its functions. Callers of these functions hold the connection
 * until they return. */
struct connection {
  jp_client *client = nullptr; /* NULL: not open yet */
  /* For the connection of a launched peer, which jp_peer_stop closes: this callback, which is never given to
   * Java, keeps the closed client in memory for threads that have just begun a call. NULL: the destructor
   * closes the connection. */
  std::shared_ptr<jp_callback> keeper;
  std::function<bool()> interrupted;
  std::function<std::string()> token_function;
  std::vector<const char *> headers; /* while the client is opened */
  int timeout_ms;

  connection(int timeout_ms_, std::function<bool()> interrupted_)
      : interrupted(std::move(interrupted_)), timeout_ms(timeout_ms_)
  {
  }
  connection(const connection &) = delete;
  connection &operator=(const connection &) = delete;
  ~connection()
  {
    if (!keeper)
      jp_client_close(client);
  }

  void keep_after_close()
  {
    jp_callback_config config = JP_ZEROS;
    config.size = sizeof config;
    config.function = [](void *, jp_callback_call *) {};
    jp_callback *made;
    jp_client_error why;
    if (jp_callback_create(client, &config, &made, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
    keeper = std::shared_ptr<jp_callback>(made, release_callback());
  }
};

/* Objects, answers and callbacks hold the connection weakly: it ends with its client. */
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
/* Characters longer than char16_t are not numbers: Java's chars have 16 bits. */
template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, wchar_t> &&
#ifdef __cpp_char8_t
                           !std::is_same_v<T, char8_t> &&
#endif
                           !std::is_same_v<T, char32_t>;

/* The name of the Java type that holds all values of T; NULL: none. */
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
  else if constexpr (!std::is_integral_v<plain> || !is_number<plain> || sizeof(plain) > sizeof(std::int64_t))
    return nullptr;
  else if constexpr (std::is_signed_v<plain>)
    return sizeof(plain) == 1 ? "byte" : sizeof(plain) == 2 ? "short" : sizeof(plain) == 4 ? "int" : "long";
  else
    return sizeof(plain) == 1 ? "short" : sizeof(plain) == 2 ? "int" : sizeof(plain) == 4 ? "long" : nullptr;
}

/* The name of the Java array whose elements have the representation of T; NULL: none. */
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
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && is_number<T> &&
                     sizeof(T) <= sizeof(std::int64_t))
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

/* The UTF-8 of a UTF-16 unit, as the library writes and reads it: lone surrogates are three bytes each. */
inline std::string utf8_of(char16_t unit)
{
  enum { ONE_BYTE = 0x80, TWO_BYTES = 0x800 };
  if (unit < ONE_BYTE)
    return {static_cast<char>(unit)};
  if (unit < TWO_BYTES)
    return {static_cast<char>(0xC0 | unit >> 6), static_cast<char>(0x80 | (unit & 0x3F))};
  return {static_cast<char>(0xE0 | unit >> 12), static_cast<char>(0x80 | (unit >> 6 & 0x3F)),
          static_cast<char>(0x80 | (unit & 0x3F))};
}

/* False: the text is not one unit. */
inline bool read_unit(std::string_view text, char16_t &unit)
{
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (text.size() == 1)
    unit = byte(0);
  else if (text.size() == 2)
    unit = static_cast<char16_t>((byte(0) & 0x1F) << 6 | (byte(1) & 0x3F));
  else if (text.size() == 3)
    unit = static_cast<char16_t>((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F));
  else
    return false;
  return utf8_of(unit) == text;
}

} // namespace detail

/* ---- values for Java ---- */

/*
 * A value for Java, made from a C++ value: bool, integers (int8_t: byte, int16_t: short, int32_t: int,
 * int64_t: long; unsigned: the next longer type), float, double, char and char16_t (char), texts in UTF-8
 * (String), nullptr (null; NULL is the number 0 in C++), objects and callbacks of jpeer, a vector of signed
 * numbers (an array: int[]; of bytes: byte[]), other vectors (List), a map with strings as keys (Map), an
 * optional. It owns or shares its parts, so it can be kept and copied.
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
  value(const value &) = default; /* also moves: a moved-from value keeps its content */
  value &operator=(const value &) = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> value(T given)
  {
    static_assert(detail::primitive_name<T>() != nullptr,
                  "Java has no type that holds all values of this one");
    if constexpr (std::is_same_v<T, bool>)
      raw_ = jp_boolean(given);
    else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, char16_t>)
      set_char(given);
    else if constexpr (std::is_floating_point_v<T>)
      raw_ = jp_double(static_cast<double>(given));
    else
      raw_ = jp_long(static_cast<std::int64_t>(given));
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

  /* The same value with another declared type, which selects among overloads, as a cast does:
   * value("2024-02-29").as_type("java.time.LocalDate"). */
  value as_type(std::string_view type) const
  {
    value made = *this;
    made.type_ = std::make_shared<const std::string>(type);
    made.raw_.type = detail::name_of(*made.type_);
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

  template <class T> void set_char(T given)
  {
    if constexpr (std::is_same_v<T, char>) {
      if (static_cast<unsigned char>(given) >= 0x80)
        detail::refuse("a char beyond ASCII is only a part of a character: give a char16_t");
    }
    set_text("char", detail::utf8_of(static_cast<char16_t>(given)));
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
  std::shared_ptr<const void> held_; /* the target of raw_'s pointers; never changed, so copies share it */
  std::shared_ptr<const std::string> type_;
};

/* A List of values of any types: list({1, "two", nullptr}); an array by list({...}).as_type("java.lang.Object[]"). */
inline value list(std::initializer_list<value> items)
{
  value made;
  made.set_list(nullptr, std::vector<value>(items));
  return made;
}

/* In a chain: the result of the step with that name. */
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

/* A handle of an object in the peer. The peer's object is released with the last handle. */
class object
{
public:
  object() = default;
  object(jp_ref *owned, detail::link connection) : ref_(owned), connection_(std::move(connection))
  {
  }

  /* The class, or the type set by as_type. If neither is known, as for an element of a list, the peer is
   * asked. */
  std::string type() const;
  std::uint32_t number() const
  {
    return jp_ref_number(raw());
  }
  explicit operator bool() const noexcept
  {
    return ref_ != nullptr;
  }

  /* Another handle of the same object, with the members of that class or interface: if the class itself is
   * not public, or the policy names the interface. */
  object as_type(std::string_view type) const
  {
    object made(jp_ref_keep(raw()), connection_);
    made.type_ = type;
    (void)detail::name_of(made.type_);
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
  friend class chain;

  /* The type for requests, borrowed. NULL: the object's own class; it is unknown, or hidden, and then its
   * name is not a type. */
  const char *named_type() const
  {
    const char *known = jp_ref_type(raw());
    if (!type_.empty())
      return type_.c_str();
    return *known == '\0' || std::strchr(known, '/') != nullptr ? nullptr : known;
  }

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

/* Escapes the text for a terminal, because Java chooses it. */
inline std::string shown(std::string_view text)
{
  enum { SHOWN = 100 };
  static const char digits[] = "0123456789abcdef";
  std::string made;
  for (char each : text.substr(0, SHOWN)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= ' ' && byte < 0x7F)
      made += each;
    else
      made += {'\\', 'x', digits[byte >> 4], digits[byte & 0xF]};
  }
  return text.size() > SHOWN ? made + "..." : made;
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

/* False: T cannot represent this integer exactly. */
template <class T> bool fit_integer(std::int64_t read, T &out)
{
  const T near = static_cast<T>(read);
  const T beyond = -static_cast<T>(std::numeric_limits<std::int64_t>::min()); /* 2^63 */
  if (near >= beyond || static_cast<std::int64_t>(near) != read)
    return false;
  out = near;
  return true;
}

/* Rounds. False: a finite number would become infinite, or another number 0. */
template <class T> bool fit_number(double read, T &out)
{
  if constexpr (sizeof(T) < sizeof(double)) {
    /* Half a step above the largest value: smaller numbers are rounded to the largest value, like the digits
     * of Java's Float.MAX_VALUE. */
    const double beyond = std::ldexp(2.0 - std::ldexp(1.0, -std::numeric_limits<T>::digits),
                                     std::numeric_limits<T>::max_exponent - 1);
    const double largest = std::numeric_limits<T>::max();
    if (std::isfinite(read) && std::fabs(read) >= beyond)
      return false;
    const bool is_rounded = std::isfinite(read) && std::fabs(read) > largest;
    const T near = static_cast<T>(is_rounded ? std::copysign(largest, read) : read);
    if (near == 0 && read != 0)
      return false;
    out = near;
  } else {
    out = static_cast<T>(read);
  }
  return true;
}

/* One character. A char must be ASCII. */
template <class T> bool read_char(std::string_view text, T &out)
{
  char16_t unit;
  if (!read_unit(text, unit) || (sizeof(T) == 1 && unit >= 0x80))
    return false;
  out = static_cast<T>(unit);
  return true;
}

/* A JSON number. If it is written as an integer, it is read exactly or not at all. */
template <class T> bool read_json_number(jp_json from, T &out)
{
  enum { DIGITS_MAX = 400 /* more than the digits of the largest double */ };
  const std::string_view digits(from.text.data, from.kind == JP_JSON_NUMBER ? from.text.len : 0);
  const bool is_integer = digits.find_first_of(".eE") == std::string_view::npos;
  std::int64_t integer;
  double read;
  if (is_integer && jp_json_integer(from, &integer))
    return fit_integer(integer, out);
  T near;
  if (!jp_json_number(from, &read) || !fit_number(read, near))
    return false;
  if (is_integer) {
    char exact[DIGITS_MAX];
    std::snprintf(exact, sizeof exact, "%.0f", static_cast<double>(near));
    if (digits != exact)
      return false;
  }
  out = near;
  return true;
}

template <class T> bool read_json_elements(jp_json from, std::vector<T> &out);

/* One JSON value. False: a value of another kind. */
template <class T> bool read_json(jp_json from, T &out)
{
  if constexpr (std::is_same_v<T, bool>) {
    return jp_json_boolean(from, &out);
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, char16_t>) {
    std::string read;
    return read_json(from, read) && read_char(read, out);
  } else if constexpr (std::is_integral_v<T>) {
    static_assert(is_number<T>, "as<T>: Java's chars are char16_t here, its code points int32_t");
    std::int64_t read;
    return jp_json_integer(from, &read) && fit(read, out);
  } else if constexpr (std::is_same_v<T, std::byte>) {
    std::int8_t read; /* Java's bytes are signed */
    if (!read_json(from, read))
      return false;
    out = static_cast<std::byte>(read);
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_json_number(from, out);
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
    return read_json_elements(from, out);
  }
}

/* A vector of char holds bytes, as Java's byte[], or characters. */
template <class T> bool read_json_elements(jp_json from, std::vector<T> &out)
{
  if (from.kind != JP_JSON_ARRAY)
    return false;
  jp_json_cursor cursor = jp_json_enter(from);
  jp_json element;
  out.clear();
  while (jp_json_next(&cursor, nullptr, &element)) {
    T read{};
    bool is_read = false;
    if constexpr (std::is_same_v<T, char>) {
      std::int8_t byte;
      is_read = read_json(element, byte);
      if (is_read)
        read = static_cast<char>(byte);
    }
    if (!is_read && !read_json(element, read))
      return false;
    out.push_back(std::move(read));
  }
  return true;
}

} // namespace detail

/* An answer owned by a chain or a call from Java. Borrowed from its owner. */
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
  /* "int", "java.util.ArrayList"; "" if there is none. Borrowed. */
  const char *type() const noexcept
  {
    return jp_answer_type(view_);
  }
  /* The value as text, "" if there is none; borrowed. */
  std::string_view text() const noexcept
  {
    jp_text read = jp_answer_text(view_);
    return read.data == nullptr ? std::string_view() : std::string_view(read.data, read.len);
  }
  /* The JSON of FETCH, DESCRIBE and METHOD; borrowed. */
  jp_json json() const noexcept
  {
    return jp_answer_json(view_);
  }

  /*
   * The value as bool, a number type that can hold it, std::string, object, a char or char16_t (for Java's
   * char), a vector of numbers (for an array with its elements), or a vector, text or number of JSON. In an
   * optional, null is empty. As a std::string, numbers and booleans are their digits and words. error: the
   * value has another kind, or T cannot hold it: an integer is never rounded, and no finite number becomes
   * infinite. A double becomes the nearest float, unless that is 0. For a failed step of a chain: its error.
   */
  template <class T> T as() const
  {
    if (kind() == JP_ANSWER_ERROR)
      fail_as_the_step();
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

  /* NULL if there is none, for example for a step without a result. */
  const jp_answer *raw() const noexcept
  {
    return view_;
  }

private:
  [[noreturn]] void fail_as_the_step() const
  {
    const jp_throwable *thrown = jp_answer_throwable(view_);
    jp_client_error why = JP_ZEROS;
    why.status = JP_CLIENT_REMOTE;
    std::snprintf(
        why.text, sizeof why.text, "the step has failed: %s",
        detail::shown(thrown->type != nullptr ? thrown->type : jp_answer_error_message(view_)).c_str());
    throw error(why, view_);
  }

  [[noreturn]] void refuse() const
  {
    if (kind() == JP_ANSWER_JSON) {
      const jp_text read = json().text;
      detail::refuse("the JSON of a result is not what was asked for: " +
                     detail::shown(std::string_view(read.data, read.len)));
    }
    const std::string type_name = *type() != '\0' ? detail::shown(type()) : is_null() ? "null" : "void";
    detail::refuse("a result of type " + type_name +
                   " is not what was asked for: " + (is_null() ? "null" : detail::shown(text())));
  }

  bool has_type(std::string_view name, std::string_view other) const
  {
    return name == type() || other == type();
  }

  /* Only the text of an array is read as elements: a String may look the same. */
  bool is_array() const
  {
    const std::string_view name = type();
    return kind() == JP_ANSWER_OBJECT &&
           (name.substr(0, 1) == "[" || (name.size() > 2 && name.substr(name.size() - 2) == "[]"));
  }

  template <class T> bool read_value(T &out) const
  {
    if (kind() == JP_ANSWER_JSON)
      return read_document(out);
    if constexpr (std::is_same_v<T, bool>) {
      return jp_answer_boolean(view_, &out);
    } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, char16_t>) {
      return kind() == JP_ANSWER_STRING && has_type("char", "java.lang.Character") &&
             detail::read_char(text(), out);
    } else if constexpr (std::is_integral_v<T>) {
      static_assert(detail::is_number<T>, "as<T>: Java's chars are char16_t here, its code points int32_t");
      std::int64_t read;
      return jp_answer_integer(view_, &read) && detail::fit(read, out);
    } else if constexpr (std::is_floating_point_v<T>) {
      std::int64_t integer;
      double read;
      if (jp_answer_integer(view_, &integer))
        return detail::fit_integer(integer, out);
      return jp_answer_number(view_, &read) && detail::fit_number(read, out);
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

  template <class T> bool read_document(T &out) const
  {
    const jp_json read = json();
    if constexpr (std::is_same_v<T, std::string>) {
      if (read.kind == JP_JSON_NUMBER || read.kind == JP_JSON_TRUE || read.kind == JP_JSON_FALSE) {
        out.assign(read.text.data, read.text.len);
        return true;
      }
    }
    return detail::read_json(read, out);
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
    return is_array() && jp_json_parse(jp_answer_text(view_), 2, &array, nullptr) == JP_JSONRPC_OK &&
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

  const jp_answer *view_;
  detail::link connection_;
};

/* The answer to a call. The results of text(), json(), type() and view() are borrowed from it, so they cannot
 * be called on a temporary answer. (as<std::string>() copies.) */
class answer
{
public:
  answer(jp_answer *owned, detail::link connection) : answer_(owned), connection_(std::move(connection))
  {
  }

  enum jp_answer_kind kind() const
  {
    return borrow().kind();
  }
  bool is_void() const
  {
    return borrow().is_void();
  }
  bool is_null() const
  {
    return borrow().is_null();
  }
  const char *type() const &
  {
    return borrow().type();
  }
  const char *type() const && = delete;
  std::string_view text() const &
  {
    return borrow().text();
  }
  std::string_view text() const && = delete;
  jp_json json() const &
  {
    return borrow().json();
  }
  jp_json json() const && = delete;
  /* For functions that also accept a chain's answers. */
  answer_view view() const &
  {
    return borrow();
  }
  answer_view view() const && = delete;

  /* As answer_view::as. */
  template <class T> T as() const
  {
    static_assert(!std::is_same_v<T, answer_view>, "an answer's view() is borrowed from it");
    return borrow().template as<T>();
  }

  /*
   * The object of a value {"ref": N} inside json(); it can be taken once. type: its class or an interface of
   * it, whose members it has; "": its own class.
   */
  object take(jp_json element, std::string_view type = {});

  /* For functions of jpeer/client.h with answers, such as jp_answer_array. */
  jp_answer *raw() const
  {
    if (!answer_)
      detail::refuse("this answer was moved from");
    return answer_.get();
  }

private:
  answer_view borrow() const
  {
    return {raw(), connection_};
  }

  std::unique_ptr<jp_answer, detail::free_answer> answer_;
  detail::link connection_;
};

namespace detail
{

inline answer send(const link &kept, const jp_request &request)
{
  auto open = open_link(kept);
  jp_answer *received = nullptr;
  jp_client_error why;
  jp_client_status status = jp_client_call(open->client, &request, open->timeout_ms, &received, &why);
  answer owned(received, kept);
  if (status != JP_CLIENT_OK)
    throw error(why, received);
  return owned;
}

} // namespace detail

namespace detail
{

/* The object of a handle, of which it takes ownership, even on failure. */
inline object adopt(jp_ref *owned, std::string_view type, const link &kept)
{
  object made(owned, kept);
  return type.empty() ? std::move(made) : made.as_type(type);
}

} // namespace detail

inline object answer::take(jp_json element, std::string_view type)
{
  std::string declared(type);
  jp_ref *ref = jp_answer_take_ref(raw(), element);
  if (ref == nullptr)
    detail::refuse("this is no {\"ref\": N} of the answer, or its object was taken already");
  if (declared.empty())
    detail::read_json(jp_json_member(element, "type"), declared);
  return detail::adopt(ref, declared, connection_);
}

inline std::string object::type() const
{
  const std::string known = type_.empty() ? jp_ref_type(raw()) : type_;
  if (!known.empty())
    return known;
  return detail::send(connection_, jp_build_instance_method_call("java.lang.Object", "getClass",
                                                                 jp_object(raw()), JP_NO_ARGUMENTS))
      .as<std::string>();
}

template <class... T> answer object::call(const std::string &method, const T &...arguments) const
{
  detail::arguments_of<T...> made{arguments...};
  return detail::send(connection_, jp_build_instance_method_call(named_type(), detail::name_of(method),
                                                                 jp_object(raw()), made.items, sizeof...(T)));
}

inline answer object::get(const std::string &field) const
{
  return detail::send(connection_,
                      jp_build_instance_field_get(named_type(), jp_object(raw()), detail::name_of(field)));
}

inline void object::put(const std::string &field, const value &given) const
{
  detail::send(connection_, jp_build_instance_field_put(named_type(), jp_object(raw()),
                                                        detail::name_of(field), &given.raw()));
}

inline answer object::fetch(std::int64_t max, std::int64_t from) const
{
  return detail::send(connection_, jp_build_fetch(jp_object(raw()), max, from));
}

/* ---- callbacks ---- */

namespace detail
{

/* Answers with the throwable for the current exception. Called in a handler. */
inline jp_client_status throw_current(jp_callback_call *call, jp_client_error *why)
{
  try {
    throw;
  } catch (const error &thrown) {
    const throwable *java = thrown.java();
    bool has_class = java != nullptr && !java->type.empty();
    return jp_callback_throw(call, has_class ? java->type.c_str() : nullptr,
                             has_class ? java->message.c_str() : thrown.what(), why);
  } catch (const std::exception &thrown) {
    return jp_callback_throw(call, nullptr, thrown.what(), why);
  } catch (...) {
    return jp_callback_throw(call, nullptr, "the callback threw what is no std::exception", why);
  }
}

/* A deferred call. The program's handle answers it, or its function does by throwing. */
struct kept_call {
  std::mutex lock;
  jp_callback_call *call; /* NULL: the call is over; its memory may be reused */

  explicit kept_call(jp_callback_call *call_) : call(call_)
  {
  }
  /* answer: (jp_callback_call *, jp_client_error *) to jp_client_status. */
  template <class F> void answer_once(F answer)
  {
    jp_callback_call *open = take();
    if (open == nullptr)
      refuse("the call was answered already");
    jp_client_error why;
    jp_client_status status =
        answer(open, &why); /* without the lock: it may end the callback and its state */
    if (status == JP_CLIENT_INVALID || status == JP_CLIENT_NO_MEMORY) {
      std::lock_guard<std::mutex> held(lock);
      call = open;
    }
    if (status != JP_CLIENT_OK)
      throw error(why, nullptr);
  }
  jp_callback_call *take()
  {
    std::lock_guard<std::mutex> held(lock);
    return std::exchange(call, nullptr);
  }
};

struct callback_state;

} // namespace detail

/*
 * A call from Java that is answered after its function has returned, once and from any thread; returned by
 * incoming::later(). If it is destroyed without an answer, Java gets a jpeer.peer.CallbackException. One
 * thread at a time uses it.
 */
class open_call
{
public:
  open_call(open_call &&) noexcept = default;
  open_call &operator=(open_call &&other) noexcept
  {
    open_call moved(std::move(other));
    std::swap(kept_, moved.kept_);
    std::swap(id_, moved.id_);
    return *this;
  }
  ~open_call()
  {
    std::shared_ptr<detail::kept_call> left = std::move(kept_);
    if (jp_callback_call *call = left ? left->take() : nullptr)
      (void)!jp_callback_throw(call, nullptr, "the program has dropped the call without an answer", nullptr);
  }

  /* Answers with a value; for a void method with value(). error: JP_CLIENT_INVALID: an invalid value (the
   * call stays open), or already answered; JP_CLIENT_CLOSED: the connection of the call has ended, and the
   * call with it. */
  void give(const value &given)
  {
    kept()->answer_once([&](jp_callback_call *call, jp_client_error *why) {
      return jp_callback_return(call, &given.raw(), why);
    });
  }
  /* Answers with a throwable: as if the function had thrown the exception, or with a throwable that the peer
   * holds. */
  void fail(const std::exception_ptr &thrown)
  {
    if (!thrown)
      detail::refuse("there is no exception");
    kept()->answer_once([&](jp_callback_call *call, jp_client_error *why) {
      try {
        std::rethrow_exception(thrown);
      } catch (...) {
        return detail::throw_current(call, why);
      }
    });
  }
  void fail(const object &throwable)
  {
    jp_ref *ref = throwable.raw();
    kept()->answer_once([&](jp_callback_call *call, jp_client_error *why) {
      return jp_callback_throw_object(call, ref, why);
    });
  }
  /* For jp_options.within: such requests run on the Java thread that waits for this call. "": an event, which
   * has no answer. */
  const std::string &id() const &
  {
    (void)kept();
    return id_;
  }

private:
  friend class incoming;
  open_call(std::shared_ptr<detail::kept_call> kept, const char *id)
      : kept_(std::move(kept)), id_(id == nullptr ? "" : id)
  {
  }
  std::shared_ptr<detail::kept_call> kept() const
  {
    if (!kept_)
      detail::refuse("this call was moved from");
    return kept_;
  }

  std::shared_ptr<detail::kept_call> kept_;
  std::string id_;
};

/* One call from Java; borrowed while its function runs. */
class incoming
{
public:
  incoming(jp_callback_call *call, detail::link connection) : call_(call), connection_(std::move(connection))
  {
  }
  incoming(const incoming &) = delete;
  incoming &operator=(const incoming &) = delete;

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
  /* The returned handle answers the call, and the function's return value is ignored; an exception of the
   * function is the answer if there is none yet. The arguments end with the answer: read them before. At most
   * once in a call. */
  open_call later() const
  {
    if (kept_)
      detail::refuse("the call is to be answered later already");
    auto kept = std::make_shared<detail::kept_call>(call_);
    open_call made(kept, jp_callback_id(call_));
    kept_ = std::move(kept);
    jp_callback_answer_later(call_);
    return made;
  }
  /* For functions of jpeer/client.h that read the call; the answer is the function's result, or later(). */
  const jp_callback_call *raw() const noexcept
  {
    return call_;
  }

private:
  friend struct detail::callback_state;
  jp_callback_call *call_;
  detail::link connection_;
  mutable std::shared_ptr<detail::kept_call> kept_;
};

/* Returns the answer for Java; for a void method value(). Exceptions reach Java: an error with a throwable's
 * class as a new throwable of that class, all others as a jpeer.peer.CallbackException. */
using callback_function = std::function<value(const incoming &)>;

/* An object that Java can hold. It ends when it is destroyed, no value holds it, and Java has released it. */
class callback
{
public:
  explicit callback(jp_callback *owned) : callback_(owned, detail::release_callback())
  {
  }
  callback(callback &&) noexcept = default;
  callback &operator=(callback &&) noexcept = default;
  jp_callback *raw() const
  {
    if (!callback_)
      detail::refuse("this callback was moved from");
    return callback_.get();
  }

private:
  friend class value;
  std::shared_ptr<jp_callback> callback_;
};

inline value::value(const callback &given) : raw_(jp_callback_argument(given.raw())), held_(given.callback_)
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
    const incoming asked(call, state->connection);
    try {
      const value result = state->function(asked);
      if (!asked.kept_)
        give(call, result);
    } catch (...) {
      if (asked.kept_)
        fail_kept(*asked.kept_);
      else
        (void)!throw_current(call, nullptr);
    }
  }

private:
  static void give(jp_callback_call *call, const value &result)
  {
    jp_client_error why;
    jp_client_status status = jp_callback_return(call, &result.raw(), &why);
    if (status == JP_CLIENT_INVALID || status == JP_CLIENT_NO_MEMORY)
      (void)!jp_callback_throw(call, nullptr, why.text,
                               nullptr); /* otherwise Java gets an error without a reason */
  }

  static void fail_kept(kept_call &kept)
  {
    if (jp_callback_call *open = kept.take())
      (void)!throw_current(open, nullptr);
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

/* A NULL-terminated list that borrows the texts. */
inline std::vector<const char *> list_of_texts(const std::vector<std::string> &texts)
{
  std::vector<const char *> made;
  for (const std::string &text : texts)
    made.push_back(name_of(text));
  made.push_back(nullptr);
  return made;
}

} // namespace detail

/* ---- chains ---- */

/* Steps that use each other's results, sent as one batch. name "": the step's result is not needed. The chain
 * holds its objects and callbacks until it is sent. */
class chain
{
public:
  chain(jp_chain *owned, detail::link connection) : chain_(owned), connection_(std::move(connection))
  {
  }

  /* Creates an object, which is the target of the next steps. */
  template <class... T>
  chain &create(const std::string &name, const std::string &type, const T &...arguments) &
  {
    detail::arguments_of<T...> made{arguments...};
    return add(made, [&](jp_chain *to) {
      jp_chain_create_object(to, detail::name_or_null(name), detail::name_of(type), made.items, sizeof...(T));
    });
  }
  /* Makes the result of that name the target of the next steps; type "": as it was created, or else its own
   * class. */
  chain &with(const std::string &name, const std::string &type = {}) &
  {
    return add(NOTHING,
               [&](jp_chain *to) { jp_chain_with(to, detail::name_of(name), detail::name_or_null(type)); });
  }
  /* Makes the object the target of the next steps. */
  chain &with(const object &on) &
  {
    const detail::arguments<1> made{on};
    return add(made, [&](jp_chain *to) { jp_chain_with_object(to, on.raw(), on.named_type()); });
  }
  template <class... T>
  chain &call(const std::string &name, const std::string &method, const T &...arguments) &
  {
    detail::arguments_of<T...> made{arguments...};
    return add(made, [&](jp_chain *to) {
      jp_chain_call(to, detail::name_or_null(name), detail::name_of(method), made.items, sizeof...(T));
    });
  }
  chain &get(const std::string &name, const std::string &field) &
  {
    return add(NOTHING,
               [&](jp_chain *to) { jp_chain_get(to, detail::name_or_null(name), detail::name_of(field)); });
  }
  chain &put(const std::string &field, const value &given) &
  {
    const detail::arguments<1> made{given};
    return add(made, [&](jp_chain *to) { jp_chain_put(to, detail::name_of(field), given.raw()); });
  }
  template <class... T>
  chain &call_static(const std::string &name, const std::string &type, const std::string &method,
                     const T &...arguments) &
  {
    detail::arguments_of<T...> made{arguments...};
    return add(made, [&](jp_chain *to) {
      jp_chain_call_static(to, detail::name_or_null(name), detail::name_of(type), detail::name_of(method),
                           made.items, sizeof...(T));
    });
  }

  /* Throws if a step failed; the other steps have run. */
  void send()
  {
    auto open = detail::open_link(connection_);
    jp_client_error why;
    jp_client_status status = jp_chain_send(raw(), open->timeout_ms, &why);
    given_.clear();
    if (status != JP_CLIENT_OK)
      throw error(why, jp_chain_failure(raw()));
  }
  /* The answer of the step with that name, borrowed until the next send. error: there is no such step. */
  answer_view operator[](const std::string &name) const &
  {
    const jp_answer *found = jp_chain_answer(raw(), detail::name_of(name));
    if (found == nullptr)
      detail::refuse("the chain has no result named " + name);
    return {found, connection_};
  }
  answer_view operator[](const std::string &name) const && = delete;

  jp_chain *raw() const
  {
    if (!chain_)
      detail::refuse("this chain was moved from");
    return chain_.get();
  }

private:
  static constexpr detail::arguments<0> NOTHING{};

  /* Adding a step reads the client's state, so the client must exist. */
  template <class ARGUMENTS, class F> chain &add(const ARGUMENTS &given, F add_to)
  {
    jp_chain *to = raw();
    auto open = detail::open_link(connection_);
    if constexpr (!std::is_same_v<ARGUMENTS, detail::arguments<0>>)
      given_.insert(given_.end(), std::begin(given.values), std::end(given.values));
    add_to(to);
    return *this;
  }

  std::unique_ptr<jp_chain, detail::destroy_chain> chain_;
  detail::link connection_;
  std::vector<value> given_;
};

/* ---- a connection ---- */

struct client_options {
  std::string peer_id;               /* a UUID that names the session; "": the connection's own session */
  bool binary = false;               /* over ZeroMQ: binary messages */
  bool reconnects = false;           /* a call on an ended connection opens a new connection */
  int timeout_ms = JP_FOREVER;       /* of each call */
  int connect_timeout_ms = 0;        /* 0: 10,000 */
  std::size_t message_max = 0;       /* 0: 256 MiB */
  std::size_t pending_max = 0;       /* 0: 65,536 */
  std::function<bool()> interrupted; /* called as in struct jp_client_config; an exception ends the process */
  /* As in struct jp_client_config; "": none. */
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string token;
  std::string token_file;
  std::function<std::string()> token_function; /* after an exception the call fails with JP_CLIENT_NO_TOKEN */
  std::vector<std::string> headers;            /* "NAME: VALUE" */
  std::string server_key; /* tcp: the peer's CURVE key, with the client's pair in key_file */
  const jp_directory_config *directory = nullptr; /* dir: as in struct jp_client_config */
};

namespace detail
{

/* For struct jp_client_config. The text of an exception may have secrets, so the error does not contain it. */
inline bool give_token(void *context, char token[JP_TOKEN_SIZE], jp_client_error *why) noexcept
{
  const char *fault = "it threw an exception";
  try {
    const std::string made = static_cast<connection *>(context)->token_function();
    if (made.size() < JP_TOKEN_SIZE && made.find('\0') == std::string::npos) {
      made.copy(token, made.size());
      token[made.size()] = '\0';
      return true;
    }
    fault = "the token is too long or has a NUL";
  } catch (...) {
  }
  std::strcpy(why->text, fault);
  return false;
}

/* The error of name_of would show it. */
inline void refuse_secret_with_nul(const std::string &secret, const char *what)
{
  if (secret.find('\0') != std::string::npos)
    refuse(std::string(what) + " has a NUL in it");
}

/* Borrows from both. */
inline jp_client_config config_of(const client_options &options, connection &asked)
{
  jp_client_config config = JP_ZEROS;
  config.size = sizeof config;
  config.peer_id = name_or_null(options.peer_id);
  config.binary = options.binary;
  config.reconnects = options.reconnects;
  config.connect_timeout_ms = options.connect_timeout_ms;
  config.message_max = options.message_max;
  config.pending_max = options.pending_max;
  if (asked.interrupted) {
    config.interrupted = [](void *context) noexcept {
      return static_cast<connection *>(context)->interrupted();
    };
    config.interrupted_context = &asked;
  }
  config.ca_file = name_or_null(options.ca_file);
  config.cert_file = name_or_null(options.cert_file);
  config.key_file = name_or_null(options.key_file);
  config.server_key = name_or_null(options.server_key);
  config.directory = options.directory;
  refuse_secret_with_nul(options.token, "token");
  config.token = name_or_null(options.token);
  config.token_file = name_or_null(options.token_file);
  if (options.token_function) {
    asked.token_function = options.token_function;
    config.token_function = give_token;
    config.token_context = &asked;
  }
  for (const std::string &header : options.headers)
    refuse_secret_with_nul(header, "a header");
  asked.headers = list_of_texts(options.headers);
  config.headers = asked.headers.data();
  return config;
}

} // namespace detail

class client
{
public:
  explicit client(const std::string &url, const client_options &options = {})
      : connection_(std::make_shared<detail::connection>(options.timeout_ms, options.interrupted))
  {
    const jp_client_config config = detail::config_of(options, *connection_);
    jp_client_error why;
    if (jp_client_open(detail::name_of(url), &config, &connection_->client, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
  }
  client(client &&) noexcept = default;
  client &operator=(client &&other) noexcept
  {
    client moved(std::move(other));
    std::swap(connection_, moved.connection_);
    return *this;
  }
  /* Waiting calls of other threads end, and the last of them closes the client. */
  ~client()
  {
    if (connection_)
      jp_client_end(connection_->client);
  }

  template <class... T>
  answer call(const std::string &type, const std::string &method, const T &...arguments) const
  {
    detail::arguments_of<T...> made{arguments...};
    return request(
        jp_build_class_method_call(detail::name_of(type), detail::name_of(method), made.items, sizeof...(T)));
  }
  /* create, because `new` is a keyword. */
  template <class... T> object create(const std::string &type, const T &...arguments) const
  {
    detail::arguments_of<T...> made{arguments...};
    return request(jp_build_constructor_call(detail::name_of(type), made.items, sizeof...(T)))
        .template as<object>();
  }
  answer get(const std::string &type, const std::string &field) const
  {
    return request(jp_build_static_field_get(detail::name_of(type), detail::name_of(field)));
  }
  void put(const std::string &type, const std::string &field, const value &given) const
  {
    request(jp_build_static_field_put(detail::name_of(type), detail::name_of(field), &given.raw()));
  }
  /* Any request of jpeer/request.h, with options. */
  answer request(const jp_request &asked) const
  {
    return detail::send(connection_, asked);
  }

  /* The object of a handle from jpeer/client.h, of which it takes ownership, even on failure. type: as in
   * answer::take. */
  object adopt(jp_ref *owned, std::string_view type = {}) const
  {
    if (owned == nullptr)
      detail::refuse("there is no object: the handle is NULL");
    return detail::adopt(owned, type, connection_);
  }

  jpeer::chain chain() const
  {
    jp_chain *made = jp_chain_create(raw());
    if (made == nullptr)
      throw error(JP_CLIENT_NO_MEMORY, "no memory for a chain");
    return {made, connection_};
  }

  /* A function that Java calls, as an object with these interfaces; none: the parameter's type. Function:
   * with the signature of callback_function. struct jp_callback_config describes the rest, and on which
   * thread it runs. */
  jpeer::callback callback(callback_function function, const std::vector<std::string> &interfaces = {}) const
  {
    return make_callback(std::move(function), interfaces, -1);
  }
  /* The same for a function with typed parameters, converted by as<T>(): a lambda for an interface with one
   * method. The number of its parameters selects among overloads. */
  template <class F> jpeer::callback lambda(F function, const std::vector<std::string> &interfaces = {}) const
  {
    std::function made = std::move(function);
    const int arity = detail::arity_of(made);
    return make_callback(detail::adapt(std::move(made)), interfaces, arity);
  }

  /* Runs Java's calls while no thread waits for an answer; call it when the descriptor is readable. */
  void process() const
  {
    const auto open = detail::open_link(connection_);
    jp_client_error why;
    if (jp_client_process(open->client, &why) != JP_CLIENT_OK)
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
  explicit client(std::shared_ptr<detail::connection> of_a_peer) : connection_(std::move(of_a_peer))
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
    (void)state.release(); /* `released` deletes it */
    return jpeer::callback(made);
  }

  std::shared_ptr<detail::connection> connection_;
};

/* ---- launching a peer ---- */

struct launch_options {
  std::string program; /* "": jpeer, searched in PATH */
  std::string class_path;
  std::vector<std::string> jvm_options;
  std::vector<std::string> options; /* of jpeer run (docs/flags.md) */
  std::string main_class;           /* "": the peer runs no program, and waits for calls */
  std::vector<std::string> arguments;
  int start_timeout_ms = 0; /* 0: 30,000 */
  client_options client;    /* of its connection */
};

/* A child process. The destructor asks it to end, and kills it after ten seconds. No callback of its
 * connection may call the destructor. */
class peer
{
public:
  explicit peer(const launch_options &options = {})
  {
    const std::vector<const char *> jvm_options = detail::list_of_texts(options.jvm_options);
    const std::vector<const char *> peer_options = detail::list_of_texts(options.options);
    const std::vector<const char *> arguments = detail::list_of_texts(options.arguments);
    auto connection =
        std::make_shared<detail::connection>(options.client.timeout_ms, options.client.interrupted);
    const jp_client_config client = detail::config_of(options.client, *connection);
    jp_launch_config config = JP_ZEROS;
    config.size = sizeof config;
    config.program = detail::name_or_null(options.program);
    config.class_path = detail::name_or_null(options.class_path);
    config.jvm_options = jvm_options.data();
    config.options = peer_options.data();
    config.main_class = detail::name_or_null(options.main_class);
    config.arguments = arguments.data();
    config.start_timeout_ms = options.start_timeout_ms;
    config.client = &client;
    jp_client_error why;
    if (jp_launch(&config, &peer_, &why) != JP_CLIENT_OK)
      throw error(why, nullptr);
    try {
      connection->client = jp_peer_client(peer_);
      connection->keep_after_close();
      client_ = std::unique_ptr<jpeer::client>(new jpeer::client(connection));
    } catch (...) {
      connection->client = nullptr; /* jp_peer_stop closes the client */
      end(STOP_MS);
      throw;
    }
  }
  peer(peer &&other) noexcept
      : peer_(std::exchange(other.peer_, nullptr)), client_(std::move(other.client_)),
        ended_(std::exchange(other.ended_, std::nullopt))
  {
  }
  peer &operator=(peer &&other) noexcept
  {
    peer moved(std::move(other));
    std::swap(peer_, moved.peer_);
    std::swap(client_, moved.client_);
    std::swap(ended_, moved.ended_);
    return *this;
  }
  ~peer()
  {
    if (peer_ != nullptr)
      end(STOP_MS);
  }

  /* The launch's connection, which ends with the peer. */
  const jpeer::client &client() const &
  {
    (void)raw();
    return *client_;
  }
  const jpeer::client &client() const && = delete;
  /* The URL for other clients: "ws+unix:/tmp/...". */
  std::string url() const
  {
    return jp_peer_url(raw());
  }
  int process_id() const
  {
    return jp_peer_process_id(raw());
  }
  /* Ends the process. Returns the status of waitpid; again, if it was stopped before. */
  int stop(int timeout_ms = STOP_MS)
  {
    if (!ended_) {
      (void)raw();
      end(timeout_ms);
    }
    return *ended_;
  }
  jp_peer *raw() const
  {
    if (peer_ == nullptr)
      detail::refuse("this peer was stopped, or moved from");
    return peer_;
  }

private:
  static constexpr int STOP_MS = 10000;

  void end(int timeout_ms) noexcept
  {
    client_.reset();
    ended_ = jp_peer_stop(std::exchange(peer_, nullptr), timeout_ms);
  }

  jp_peer *peer_ = nullptr;
  std::unique_ptr<jpeer::client> client_;
  std::optional<int> ended_; /* the status of waitpid */
};

inline peer launch(const launch_options &options = {})
{
  return peer(options);
}

} // namespace jpeer

#endif
