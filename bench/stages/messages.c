/* The messages of a workload, in its form. */
#include "workloads.h"

static const struct text client_id = TEXT("0b5e1c4e-93a7-4f5e-8d1c-2a6f8e7d4c3b");
static const struct text peer_id = TEXT("7c9e6679-7425-40de-944b-e07fc1f90ae7");

/* A call for the encoder, with the memory of its values. */
struct made_call {
  struct binary_call call;
  char peer[16];
  struct buffer values[BINARY_ARGS_MAX];
};

static struct binary_value make_value(const struct workload_value *source, struct buffer *value)
{
  buffer_init(value);
  workload_fill(source->value, 0, value);
  return (struct binary_value){text_of(source->type), buffer_text(value)};
}

/* Each workload has its own session, which holds only its receiver. */
static void make_call(const struct workload *workload, uint32_t receiver, struct made_call *made)
{
  const struct workload_call *source = workload->call;
  memset(made->peer, (int)(1 + (workload - workloads)), sizeof made->peer);
  made->call = (struct binary_call){.peer = {made->peer, sizeof made->peer},
                                    .id = client_id,
                                    .class_name = text_of(source->class_name),
                                    .method = text_of(source->method),
                                    .receiver = source->has_receiver ? receiver : 0};
  unsigned count = 0;
  for (; count < BINARY_ARGS_MAX && source->args[count].type != NULL; count++)
    made->call.args[count] = make_value(&source->args[count], &made->values[count]);
  made->call.arg_count = count;
}

static void release_call(struct made_call *made)
{
  for (unsigned i = 0; i < made->call.arg_count; i++)
    buffer_fini(&made->values[i]);
}

void workload_write_request(const struct workload *workload, uint32_t receiver, struct buffer *out)
{
  if (workload->call == NULL) {
    workload_fill(workload->request, receiver, out);
    return;
  }
  struct made_call made;
  make_call(workload, receiver, &made);
  binary_append_call(&made.call, out);
  release_call(&made);
}

void workload_write_answer(const struct workload *workload, uint32_t receiver, struct buffer *out)
{
  if (workload->call == NULL) {
    workload_fill(workload->answer, receiver, out);
    return;
  }
  struct made_call made;
  struct buffer value;
  make_call(workload, receiver, &made);
  const struct binary_value result = make_value(&workload->call->result, &value);
  binary_append_return(&made.call, peer_id, &result, out);
  release_call(&made);
  buffer_fini(&value);
}

void workload_write_new(const struct workload *workload, struct buffer *out)
{
  if (workload->call == NULL) {
    workload_fill(workloads[WORKLOAD_NEW_DELETE].request, 0, out);
    return;
  }
  struct made_call made;
  make_call(workload, 0, &made);
  binary_append_new(&made.call, out);
  release_call(&made);
}
