#ifndef JPEER_OP_VALUE_CLASSES_H
#define JPEER_OP_VALUE_CLASSES_H
/*
 * The Java classes whose objects are sent as values: how an object is made from a value, its text, and its
 * description. tools/value-classes makes the table from native/op/value_classes.json at build time
 * (docs/internals/additions.md, "A value class"). Constant data; any thread.
 */
#include "base/text.h"

#include <stdbool.h>

/* How a value becomes an object of a class, where the name of the class determines it. */
enum class_maker {
  /* the name does not determine how: an enum, a collection, or a class that accepts only refs */
  MAKER_OTHER,
  MAKER_NATURAL, /* Object, Number, CharSequence, Comparable, ...: the class that the value's form suggests */
  MAKER_STRING,  /* java.lang.String */
  MAKER_WRAPPER, /* Integer, Boolean, ... */
  MAKER_ARRAY,   /* not the number of a row */
  MAKER_LIST,    /* a new object of the class `made`, filled with add */
  MAKER_MAP,     /* a new object of the class `made`, filled with put */
  MAKER_PARSE,   /* from text, by the static method `method` of the class */
  MAKER_CONSTRUCT, /* from text, by the constructor whose one parameter is a String */
  MAKER_CLASS      /* java.lang.Class, by its name */
};

/* How the text of an object is made. The same text is accepted as an argument of the class. Making the text
 * runs no code of an application: the class is final, or objects of its subclasses get no text. */
enum class_text {
  CLASS_TEXT_NONE,
  CLASS_TEXT_NAME,     /* an enum: the name of the constant; enums have no row */
  CLASS_TEXT_STRING,   /* the result of toString of a final class of the JDK */
  CLASS_TEXT_YEAR,     /* the result of toString, changed so that the class's own parse accepts it */
  CLASS_TEXT_INTEGER,  /* BigInteger itself, whose digits are bounded */
  CLASS_TEXT_DECIMAL,  /* BigDecimal itself, whose digits are bounded */
  CLASS_TEXT_OPTIONAL, /* the text, or the value, of its content */
  CLASS_TEXT_CLASS     /* the name of the class */
};

/* The numbers that a class accepts as well as texts. */
enum class_numbers {
  CLASS_NUMBERS_NONE,
  CLASS_NUMBERS_WHOLE, /* except numbers for which a double is inferred */
  CLASS_NUMBERS_ALL
};

/* The description of the values of a class. */
enum class_schema {
  CLASS_SCHEMA_NONE, /* a ref; or a collection or a map, if a supertype says so */
  /* A JSON form of its own. */
  CLASS_SCHEMA_ANY,
  CLASS_SCHEMA_NULL,
  CLASS_SCHEMA_STRING,
  CLASS_SCHEMA_CHARACTER,
  CLASS_SCHEMA_BOOLEAN,
  CLASS_SCHEMA_BYTE,
  CLASS_SCHEMA_SHORT,
  CLASS_SCHEMA_INT,
  CLASS_SCHEMA_INTEGER,
  CLASS_SCHEMA_NUMBER,
  CLASS_SCHEMA_FORMS, /* the number of classes in earlier rows */
  /* Given as text. */
  CLASS_SCHEMA_TEXT,        /* a result is a text */
  CLASS_SCHEMA_TEXT_OR_REF, /* a result may be a ref: it has too many digits, or is of a subclass */
  CLASS_SCHEMA_CLASS,       /* a result is a ref */
  CLASS_SCHEMA_OPTIONAL     /* given as a ref; a result is its content */
};

/* The forms of a value that have a cost among overloads. */
enum class_cost { CLASS_COST_TEXT, CLASS_COST_INTEGER, CLASS_COST_FRACTION, CLASS_COSTS };

struct value_class {
  struct text name; /* Class.getName() */
  enum class_maker maker;
  const char *made;       /* MAKER_LIST, MAKER_MAP: the class to make, as JNI writes it; NULL: no other */
  const char *method;     /* MAKER_PARSE: the static method's name; MAKER_CONSTRUCT: "<init>" */
  const char *descriptor; /* of `method` */
  enum class_numbers numbers;
  unsigned costs[CLASS_COSTS]; /* MAKER_PARSE, MAKER_CONSTRUCT, MAKER_CLASS */
  enum class_text text;
  enum class_schema schema;
  bool needs_no_rule; /* an argument may name the class without a rule for it */
};

/* The row of a class, by its name. NULL: none. */
const struct value_class *value_class_find(struct text name);

/* The row of a class whose maker is not MAKER_OTHER. NULL: none. */
const struct value_class *value_class_find_maker(struct text name);

/* True if objects of the class only contain values and run no code of an application (docs/policy.md, "What
 * arguments name"). */
bool value_class_needs_no_rule(struct text name);

/* True for the collections and maps of java.util and of its subpackages, and for each of their supertypes to
 * which an argument can be converted as a collection or map. */
bool value_class_is_container(struct text name);

/* Sorted by text_order. Made by tools/value-classes. */
extern const struct value_class value_class_rows[];
extern const size_t value_class_count;

#endif
