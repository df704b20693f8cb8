/* Requests that are built and sent once more, because the peer has refused how they were built. */
#include "native.h"

void attempt_begin(const struct attempt *attempt, struct builder *builder, struct connection *connection)
{
  builder_init(builder, connection);
  builder->choice = attempt->choice;
}

void attempt_end(struct attempt *attempt, struct builder *builder)
{
  attempt->choice = builder->choice;
  attempt->fate = builder->fate;
  builder_fini(builder);
}

bool attempt_next(struct attempt *attempt)
{
  enum { ATTEMPTS_MAX = 64 };
  struct form_choice *choice = &attempt->choice;
  if (attempt->fate == BUILDER_SENT || ++attempt->count >= ATTEMPTS_MAX)
    return false;
  for (size_t i = 0; i < FORM_PLACES; i++) {
    if (choice->form[i] < choice->last[i]) {
      choice->form[i]++;
      return true;
    }
    choice->form[i] = 0;
  }
  return false;
}

PyObject *request_fail_twice(void)
{
  PyErr_SetString(PyExc_RuntimeError, "make_error gave NotImplemented twice");
  return NULL;
}

static PyObject *try_twice(PyObject *(*attempt)(struct attempt *attempt, void *context),
                           struct attempt *state, void *context)
{
  PyObject *value = attempt(state, context);
  if (value == NULL && !PyErr_Occurred())
    value = attempt(state, context);
  return value == NULL && !PyErr_Occurred() ? request_fail_twice() : value;
}

PyObject *request_retry(PyObject *(*attempt)(struct attempt *attempt, void *context), void *context)
{
  struct attempt state = {.count = 0};
  PyObject *value = try_twice(attempt, &state, context);
  if (value != NULL || state.fate != BUILDER_REFUSED || !attempt_next(&state))
    return value;
  PyObject *first = take_exception();
  do {
    PyErr_Clear();
    value = try_twice(attempt, &state, context);
  } while (value == NULL && attempt_next(&state));
  if (value == NULL && first != NULL && state.fate != BUILDER_SENT && PyErr_ExceptionMatches(PyExc_Exception))
    PyErr_SetObject((PyObject *)Py_TYPE(first), first);
  Py_XDECREF(first);
  return value;
}
