/* A key in the first line and a value: what is read of them can be written and read again. */
#include "directory/entries.h"

#include "tests/fuzz/fuzz.h"

static void try_info(struct text value, struct arena *arena)
{
  struct directory_info info;
  struct directory_info again;
  if (directory_info_read(value, arena, &info, NULL) != JP_OK)
    return;
  require(directory_info_read(directory_info_write(arena, &info), arena, &again, NULL) == JP_OK);
  require(uuid_equal(&info.uuid, &again.uuid) && info.ctime_ms == again.ctime_ms &&
          text_equal(info.name, again.name));
}

static void try_state(struct text value, struct arena *arena)
{
  struct directory_state state;
  struct directory_state again;
  if (directory_state_read(value, arena, &state, NULL) != JP_OK)
    return;
  require(directory_state_read(directory_state_write(arena, &state), arena, &again, NULL) == JP_OK);
  require(text_equal(state.json_rpc, again.json_rpc) && text_equal(state.zmq_rpc, again.zmq_rpc) &&
          text_equal(state.zmq_curve, again.zmq_curve) && state.mtime_ms == again.mtime_ms);
}

static void try_member(struct text value, struct arena *arena)
{
  struct directory_member member;
  struct directory_member again;
  if (directory_member_read(value, arena, &member, NULL) != JP_OK)
    return;
  require(directory_member_read(directory_member_write(arena, &member), arena, &again, NULL) == JP_OK);
  require(uuid_equal(&member.uuid, &again.uuid) && text_equal(member.json_rpc, again.json_rpc) &&
          text_equal(member.zmq_rpc, again.zmq_rpc));
}

static void try_key(struct text key, struct arena *arena)
{
  const struct text space = TEXT("pal");
  struct directory_key read;
  struct directory_key again;
  directory_key_read(key, space, &read);
  struct text written = read.kind == DIRECTORY_KEY_INFO    ? directory_key_info(arena, space, &read.uuid)
                        : read.kind == DIRECTORY_KEY_STATE ? directory_key_state(arena, space, &read.uuid)
                        : read.kind == DIRECTORY_KEY_NAME  ? directory_key_name(arena, space, read.name)
                        : read.kind == DIRECTORY_KEY_SERVICE
                            ? directory_key_service(arena, space, read.name, &read.uuid)
                            : TEXT_ABSENT;
  if (written.data == NULL)
    return;
  directory_key_read(written, space, &again);
  require(again.kind == read.kind && uuid_equal(&again.uuid, &read.uuid) &&
          text_equal(again.name, read.name));
}

FUZZ_TARGET(input)
{
  struct arena arena;
  struct text key;
  arena_init(&arena);
  if (next_line(&input, &key))
    try_key(key, &arena);
  try_info(input, &arena);
  try_state(input, &arena);
  try_member(input, &arena);
  arena_fini(&arena);
}
