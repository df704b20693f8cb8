/*
 * registrations ENDPOINTS COUNT OPTION=VALUE...: many registrations in one process, as COUNT peers would have, all begun
 * at once. Prints a line for each, "listed UUID" or "failed STATUS TEXT", and then "all". At the end of its input it
 * withdraws them all, prints how many milliseconds that took, and ends.
 *
 * Options: name (with "%" for the number), uuid, service, ttl, timeout, ca, cert, key, user, wait=1, optional=1; and
 * watch_after=MS: reads the directory, pauses, and watches it, with one client. Prints "watching", or "failed" as above.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "directory/registration.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
  struct registration_config config;
  struct registration *registration;
  char name[300];
  const char *service;
  pthread_t thread;
};

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static const char *option(char **args, const char *name)
{
  size_t length = strlen(name);
  for (; *args != NULL; args++) {
    if (strncmp(*args, name, length) == 0 && (*args)[length] == '=')
      return *args + length + 1;
  }
  return NULL;
}

static long number(char **args, const char *name, long standard)
{
  const char *value = option(args, name);
  return value == NULL ? standard : atol(value);
}

static void *begin(void *argument)
{
  struct entry *entry = argument;
  struct jp_error error = {0};
  char uuid[UUID_TEXT_LENGTH + 1];
  uuid_format(&entry->config.uuid, uuid);
  enum jp_status status = registration_create(&entry->config, &entry->registration, &error);
  if (status == JP_OK)
    status = registration_begin(entry->registration, &error);
  pthread_mutex_lock(&output);
  if (status == JP_OK)
    printf("listed %s\n", uuid);
  else
    printf("failed %d %s\n", status, error.text);
  fflush(stdout);
  pthread_mutex_unlock(&output);
  return NULL;
}

static void *withdraw(void *argument)
{
  struct entry *entry = argument;
  registration_destroy(entry->registration);
  return NULL;
}

static void make_entry(struct entry *entry, size_t at, char **args)
{
  const char *name = option(args + 3, "name");
  const char *uuid = option(args + 3, "uuid");
  const char *mark = name == NULL ? NULL : strchr(name, '%');
  if (mark != NULL)
    snprintf(entry->name, sizeof entry->name, "%.*s%zu%s", (int)(mark - name), name, at, mark + 1);
  entry->service = option(args + 3, "service");
  entry->config = (struct registration_config){
      .etcd = {.endpoints = args[1],
               .ca_file = option(args + 3, "ca"),
               .cert_file = option(args + 3, "cert"),
               .key_file = option(args + 3, "key"),
               .user_file = option(args + 3, "user")},
      .space = "pal",
      .name = mark != NULL ? entry->name : name,
      .json_url = "ws://127.0.0.1:1",
      .services = &entry->service,
      .service_count = entry->service == NULL ? 0 : 1,
      .ttl_s = number(args + 3, "ttl", 10),
      .timeout_ms = number(args + 3, "timeout", 5000),
      .patience = option(args + 3, "wait") != NULL ? REGISTRATION_WAITS : REGISTRATION_FAILS_AT_ONCE,
      .need = option(args + 3, "optional") != NULL ? REGISTRATION_OPTIONAL : REGISTRATION_REQUIRED};
  uuid_random(&entry->config.uuid);
  if (uuid != NULL && !uuid_parse(text_of(uuid), &entry->config.uuid))
    exit(2);
}

static bool end_watch(void *context, const struct etcd_event *events, size_t count, int64_t revision)
{
  (void)context, (void)events, (void)count, (void)revision;
  return false;
}

static void watch_after(const struct etcd_options *options, long pause_ms)
{
  struct etcd_client *client;
  struct jp_error error = {0};
  struct etcd_pairs pairs;
  struct arena arena;
  arena_init(&arena);
  enum jp_status status = etcd_client_create(options, &client, &error);
  if (status == JP_OK)
    status = etcd_read(client, TEXT("/pal/"), ETCD_PREFIX, clock_now_ms() + 5000, &arena, &pairs, &error);
  usleep((useconds_t)pause_ms * 1000);
  if (status == JP_OK)
    status = etcd_watch(client, TEXT("/pal/"), ETCD_PREFIX, pairs.revision + 1, clock_now_ms() + 5000,
                        end_watch, NULL, &error);
  if (status == JP_OK)
    printf("watching\n");
  else
    printf("failed %d %s\n", status, error.text);
  etcd_client_destroy(client);
  arena_fini(&arena);
}

static void for_each(struct entry *entries, size_t count, void *(*run)(void *))
{
  for (size_t i = 0; i < count; i++) {
    if (pthread_create(&entries[i].thread, NULL, run, &entries[i]) != 0)
      exit(2);
  }
  for (size_t i = 0; i < count; i++)
    pthread_join(entries[i].thread, NULL);
}

int main(int arg_count, char **args)
{
  if (arg_count < 3)
    return 2;
  char bytes[64];
  size_t count = (size_t)atol(args[2]);
  struct entry *entries = calloc(count, sizeof *entries);
  if (entries == NULL)
    return 2;
  log_set_level(LOG_LEVEL_DEBUG);
  for (size_t i = 0; i < count; i++)
    make_entry(&entries[i], i, args);
  for_each(entries, count, begin);
  if (option(args + 3, "watch_after") != NULL)
    watch_after(&entries[0].config.etcd, number(args + 3, "watch_after", 0));
  puts("all");
  fflush(stdout);
  while (read(STDIN_FILENO, bytes, sizeof bytes) > 0)
    continue;
  int64_t begun = clock_now_ms();
  for_each(entries, count, withdraw);
  printf("withdrawn in %lld ms\n", (long long)(clock_now_ms() - begun));
  free(entries);
  return 0;
}
