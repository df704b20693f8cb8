#ifndef JPEER_COMMAND_ELEMENT_PAGES_H
#define JPEER_COMMAND_ELEMENT_PAGES_H
/*
 * Reads the elements of an object in pages: of a collection, a map, an array, an iterator or a stream.
 *
 * One thread. The object's value must outlive the fetch.
 */
#include "command/evaluator.h"

/* PLAIN: JSON without the classes of elements. TYPED: fetch_value makes values of Java of them. */
enum fetch_form { FETCH_PLAIN, FETCH_TYPED };
/* For a program or its `jpeer each`, or to show a value. Only the first has the options of the program's requests. */
enum fetch_reader { FETCH_FOR_PROGRAM, FETCH_TO_SHOW };

struct fetch {
  struct evaluator *evaluator;
  const struct value *object;
  enum fetch_form form;
  enum fetch_reader reader;
  struct jp_ref *at;        /* the object, then what is left of it */
  struct jp_answer *answer; /* the page */
  struct jp_json elements;  /* of the page */
  size_t count;             /* of all pages so far */
  bool is_done;             /* there are no more pages */
};

void fetch_begin(struct fetch *fetch, struct evaluator *evaluator, const struct value *object,
                 enum fetch_form form, enum fetch_reader reader);
/* Replaces the page by the next one, of at most that many elements. False: *failure says why. */
bool fetch_page(struct fetch *fetch, size_t most, const struct failure **failure) JP_MUST_CHECK;
/* An element of the page as a value. NULL: no memory. */
struct value *fetch_value(struct fetch *fetch, struct value_pool *pool, struct jp_json element);
/* What is left of an iterator is released. */
void fetch_end(struct fetch *fetch);

#endif
