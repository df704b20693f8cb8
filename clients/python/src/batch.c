/* Batches: steps that go in one message, and may need the results of steps before them. */
#include "native.h"

#include <stdio.h>

enum { STEP_NAME_SIZE = 24 };

static const struct jp_answer *answer_of_step(const struct jp_chain *chain, Py_ssize_t step)
{
  char name[STEP_NAME_SIZE];
  snprintf(name, sizeof name, "%zd", step);
  return jp_chain_answer(chain, name);
}

static PyObject *value_of_answer(struct connection *connection, const struct jp_answer *answer,
                                 PyObject *step)
{
  static const struct jp_client_error no_answer = {.status = JP_CLIENT_PROTOCOL,
                                                   .text = "a step of a batch has no answer"};
  if (answer == NULL)
    return raise_failure(connection, JP_CLIENT_PROTOCOL, NULL, &no_answer);
  if (jp_answer_kind(answer) == JP_ANSWER_ERROR)
    return raise_failure(connection, JP_CLIENT_REMOTE, answer, &no_answer);
  return from_java_result(connection, request_step_kind(step), answer);
}

/* Steps that have run would run twice. */
static void refuse_retry(const struct jp_chain *chain, Py_ssize_t count)
{
  for (Py_ssize_t i = 0; i < count; i++) {
    const struct jp_answer *answer = answer_of_step(chain, i);
    if (answer != NULL && jp_answer_kind(answer) != JP_ANSWER_ERROR) {
      PyErr_SetString(PyExc_RuntimeError,
                      "a step of a batch was refused, and the batch cannot be sent again: others have run");
      return;
    }
  }
}

/* Gives the value of each step, or raises the first failure. */
static PyObject *values_of_chain(struct connection *connection, const struct jp_chain *chain, PyObject *steps)
{
  Py_ssize_t count = PyTuple_Size(steps);
  PyObject *values = PyList_New(count);
  for (Py_ssize_t i = 0; values != NULL && i < count; i++) {
    PyObject *value = value_of_answer(connection, answer_of_step(chain, i), PyTuple_GetItem(steps, i));
    if (value == NULL && !PyErr_Occurred())
      refuse_retry(chain, count);
    if (value == NULL || PyList_SetItem(values, i, value) != 0)
      Py_CLEAR(values);
  }
  return values;
}

static bool add_steps(struct builder *builder, struct jp_chain *chain, PyObject *steps)
{
  char name[STEP_NAME_SIZE];
  for (Py_ssize_t i = 0; i < PyTuple_Size(steps); i++) {
    struct jp_request request;
    if (!request_from_step(builder, PyTuple_GetItem(steps, i), &request))
      return false;
    snprintf(name, sizeof name, "%zd", i);
    jp_chain_request(chain, name, &request);
  }
  return true;
}

/* is_stale: where not NULL, it is set in place of the exception where nothing was sent. */
static PyObject *send_chain(struct link *link, struct jp_chain *chain, PyObject *steps, bool *is_stale)
{
  struct connection *connection = link->connection;
  struct jp_client_error error;
  enum jp_client_status status;
  int timeout_ms = connection->timeout_ms;
  bool may_build = false;
  Py_BEGIN_ALLOW_THREADS;
  status = jp_chain_send(chain, timeout_ms, &error);
  if (is_stale != NULL && status == JP_CLIENT_STALE && answer_of_step(chain, 0) == NULL)
    may_build = link_learn_epoch(link, timeout_ms);
  Py_END_ALLOW_THREADS;
  if (may_build) {
    *is_stale = true;
    return NULL;
  }
  link_note_status(link, status);
  interrupt_end_wait(connection, status);
  if (PyErr_Occurred())
    return NULL;
  if (status != JP_CLIENT_OK && status != JP_CLIENT_REMOTE)
    return raise_failure(connection, status, NULL, &error);
  return values_of_chain(connection, chain, steps);
}

struct batch {
  struct connection *connection;
  PyObject *steps; /* a tuple */
};

static PyObject *build_batch(struct attempt *attempt, const struct batch *batch, bool *is_stale)
{
  struct connection *connection = batch->connection;
  PyObject *steps = batch->steps;
  struct link *link = connection_enter(connection, NULL);
  if (link == NULL)
    return NULL;
  struct builder builder;
  attempt_begin(attempt, &builder, connection);
  builder.link = link_hold(link);
  struct jp_chain *chain = jp_chain_create(link->client);
  PyObject *values = NULL;
  if (chain == NULL)
    PyErr_NoMemory();
  else if (add_steps(&builder, chain, steps))
    values = send_chain(link, chain, steps, is_stale);
  jp_chain_destroy(chain);
  attempt_end(attempt,
              &builder); /* values have their first forms: steps before one that was refused have run */
  connection_leave(connection);
  return values;
}

static PyObject *try_batch(struct attempt *attempt, void *context)
{
  bool is_stale = false;
  PyObject *values = build_batch(attempt, context, &is_stale);
  return is_stale ? build_batch(attempt, context, NULL) : values;
}

PyObject *connection_batch(PyObject *self, PyObject *sequence)
{
  struct batch batch = {(struct connection *)self, PySequence_Tuple(sequence)};
  PyObject *values = batch.steps == NULL ? NULL : request_retry(try_batch, &batch);
  Py_XDECREF(batch.steps);
  return values;
}
