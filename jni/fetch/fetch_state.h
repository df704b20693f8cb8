#ifndef JPEER_JNI_FETCH_FETCH_STATE_H
#define JPEER_JNI_FETCH_FETCH_STATE_H
/* What the files of this folder share about one OP_FETCH. Not for others. */
#include "jni/convert/judge.h"
#include "jni/convert/result_values.h"
#include "jni/convert/results.h"
#include "jni/fetch.h"

struct fetch {
  JNIEnv *env;
  const struct jvm_request *request;
  struct outcome *outcome;
  uint64_t epoch;
  jobject object; /* local: the one to fetch from */
  struct jvm_class *class;
  jobject
      mark; /* borrowed: the third element of pairs of key and value, where elements tell their types; NULL: none */
  size_t max;
  size_t room; /* what the text of all elements may still have, in bytes */

  struct op_value elements; /* a list, or a text */
  uint32_t ref;             /* takes the next call */
  bool is_ref_told;         /* it has been counted for this answer already */
  bool is_done;
};

/* Each returns false where it leaves an OUTCOME_ERROR. */

/* elements.c: of an Iterator or Enumeration; of the iterators of a BaseStream, an Iterable and a Map. */
bool fetch_from_iterator(struct fetch *fetch);
bool fetch_from_stream(struct fetch *fetch);
bool fetch_from_iterable(struct fetch *fetch);
bool fetch_from_map(struct fetch *fetch);

/* pieces.c */
bool fetch_from_array(struct fetch *fetch);
bool fetch_from_string(struct fetch *fetch);
bool fetch_from_input(struct fetch *fetch);

/* fetch.c */
bool fetch_fail(struct fetch *fetch, enum outcome_failure failure, const char *what);
bool fetch_take_exception(struct fetch *fetch); /* true: one was pending, and the outcome describes it */
/* Adds an element to the list, by value or as a ref. False: it has to wait, with an OUTCOME_ERROR where it is no
 * matter of room. */
bool fetch_add(struct fetch *fetch, jobject element);
bool fetch_make_list(struct fetch *fetch, size_t capacity);

#endif
