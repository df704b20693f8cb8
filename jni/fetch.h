#ifndef JPEER_JNI_FETCH_H
#define JPEER_JNI_FETCH_H
/*
 * Objects in pieces: reading the next elements of an object of the session, and building an object from
 * pieces that the client sends (docs/pieces.md).
 */
#include "jni/members.h"

/*
 * Runs an OP_FETCH on the thread's own thread, between jvm_request_begin and jvm_request_end. Asks the judge
 * about each Java member that the fetch runs, on the class of the object. *outcome becomes a map with
 * `elements`, `done` and, if `done` is false, the `ref` for the next call.
 *
 * Elements that were read from an iterator, but are not in the outcome, are kept in the session for the next
 * call.
 */
void jvm_fetch(const struct jvm_request *request, struct outcome *outcome);

/*
 * Runs an OP_COLUMNS, on the same thread and with the same checks as jvm_fetch. *outcome becomes a map: `rows`,
 * `done`, `columns` and, unless done, the `ref` for the next call. Rows that were read, but are not in the
 * outcome, are kept in the session.
 */
void jvm_columns(const struct jvm_request *request, struct outcome *outcome);

/*
 * Runs an OP_ROWS, on the same thread and with the same checks as jvm_fetch: adds the rows of its columns to a
 * Collection, or executes them as a batch of a PreparedStatement. *outcome becomes a map: `rows` and, of a
 * statement, `counts`.
 */
void jvm_rows(const struct jvm_request *request, struct outcome *outcome);

/*
 * Runs an OP_ASSEMBLE, on the same thread and with the same checks as jvm_fetch: begins an array of
 * primitives, a String, a List or a Map, or adds a piece to such an object. The piece is converted and judged
 * like an argument. *outcome becomes a map with the `ref`. The first use of the object completes it
 * (jni/objects.h, jvm_objects_get).
 */
void jvm_assemble(const struct jvm_request *request, struct outcome *outcome);

#endif
