/* Listening Unix sockets: their files, files and sockets that exist at the path already, and who may connect. */
#include "net/unix_socket.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { RACERS = 8, RACES = 50 };

static char folder[64];

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/jpeer-unix-XXXXXX");
  return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static ino_t inode_of(const char *path)
{
  struct stat found;
  return lstat(path, &found) == 0 ? found.st_ino : 0;
}

static size_t count_files(void)
{
  FILE *list = popen("ls -A | wc -l", "r");
  size_t count = 0;
  assert_non_null(list);
  assert_int_equal(fscanf(list, "%zu", &count), 1);
  pclose(list);
  return count;
}

static void write_file(const char *path, const char *content)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(content, file);
  fclose(file);
}

static struct unix_socket bind_socket(const char *path)
{
  struct unix_socket made;
  struct jp_error error;
  enum jp_status status = unix_socket_bind(path, &UNIX_SOCKET_OWN_USER, &made, &error);
  if (status != JP_OK)
    print_error("%s\n", error.text);
  assert_int_equal(status, JP_OK);
  assert_int_equal(fcntl(made.fd, F_GETFD), FD_CLOEXEC);
  assert_true((fcntl(made.fd, F_GETFL) & O_NONBLOCK) != 0);
  return made;
}

/* Expects a refusal, and that the file at the path is not changed. */
static void expect_refusal(const char *path, const char *part)
{
  struct unix_socket made;
  struct jp_error error;
  ino_t before = inode_of(path);
  assert_int_equal(unix_socket_bind(path, &UNIX_SOCKET_OWN_USER, &made, &error), JP_IO);
  if (strstr(error.text, path) == NULL || strstr(error.text, part) == NULL)
    fail_msg("\"%s\" does not say \"%s\" of %s", error.text, part, path);
  assert_int_equal(made.fd, -1);
  assert_null(made.path);
  assert_int_equal(inode_of(path), before);
}

static void close_socket(struct unix_socket *made)
{
  unix_socket_remove(made);
  close(made->fd);
}

/* Makes a socket of this type that is bound to the path and does not listen. */
static int bind_raw(const char *path, int type)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, type, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static int connect_raw(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
    return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

UNIT_TEST_WITH(a_live_socket_is_not_replaced, make_folder, remove_folder)
{
  struct unix_socket first = bind_socket("l");
  expect_refusal("l", "in use");
  close_socket(&first);

  int datagrams = bind_raw("l", SOCK_DGRAM);
  expect_refusal("l", "in use");
  close(datagrams);
  unlink("l");

  int busy = bind_raw("l", SOCK_STREAM);
  assert_int_equal(listen(busy, 0), 0);
  int clients[4];
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    clients[i] = connect_raw("l"); /* connects until the backlog is full */
  assert_int_equal(clients[COUNT_OF(clients) - 1], -1);
  expect_refusal("l", "in use");
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    close(clients[i]);
  close(busy);
}

UNIT_TEST_WITH(another_file_is_not_removed, make_folder, remove_folder)
{
  struct unix_socket first = bind_socket("o");
  unlink("o");
  struct unix_socket second = bind_socket("o");
  unix_socket_remove(&first);
  close(first.fd);
  assert_int_equal(inode_of("o"), second.inode);
  unlink("o");
  write_file("o", "content");
  close_socket(&second);
  assert_int_not_equal(inode_of("o"), 0);
  unix_socket_remove(&second); /* the second call has no effect */
}

UNIT_TEST_WITH(a_held_lock_is_waited_for, make_folder, remove_folder)
{
  int holder = open("k.lock", O_RDWR | O_CREAT, 0600);
  assert_int_equal(flock(holder, LOCK_EX), 0);
  expect_refusal("k", "another process holds k.lock");
  close(holder); /* a lock file without a holder does not matter */
  struct unix_socket made = bind_socket("k");
  assert_int_equal(inode_of("k.lock"), 0);
  close_socket(&made);

  write_file("k.lock", "somebody's");
  made = bind_socket("k");
  assert_int_not_equal(inode_of("k.lock"), 0);
  close_socket(&made);
  unlink("k.lock");
  assert_int_equal(symlink("elsewhere", "k.lock"), 0);
  expect_refusal("k", "its lock k.lock");
}

struct racer {
  struct unix_socket made;
  enum jp_status status;
};

static void *race_for_path(void *argument)
{
  struct racer *racer = argument;
  struct jp_error error;
  racer->status = unix_socket_bind("r", &UNIX_SOCKET_OWN_USER, &racer->made, &error);
  return NULL;
}

UNIT_TEST_WITH(one_of_many_gets_a_stale_path, make_folder, remove_folder)
{
  for (int race = 0; race < RACES; race++) {
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    size_t winners = 0;
    close(bind_raw("r", SOCK_STREAM));
    for (size_t i = 0; i < RACERS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, race_for_path, &racers[i]), 0);
    for (size_t i = 0; i < RACERS; i++) {
      pthread_join(threads[i], NULL);
      winners += racers[i].status == JP_OK;
    }
    assert_int_equal(winners, 1);
    for (size_t i = 0; i < RACERS; i++) {
      if (racers[i].status != JP_OK)
        continue;
      assert_int_equal(inode_of("r"), racers[i].made.inode);
      close_socket(&racers[i].made);
    }
    assert_int_equal(count_files(), 0);
  }
}

UNIT_TEST_WITH(paths_are_checked, make_folder, remove_folder)
{
  char longest[109];
  memset(longest, 'x', sizeof longest);
  longest[108] = '\0';
  const struct {
    const char *path, *part;
  } bad[] = {{"", "takes the path of a file"},
             {"folder/", "takes the path of a file"},
             {"@name", "abstract"},
             {longest, "at most 107 bytes"},
             {"a\nb", "control characters"},
             {"a\x7f", "control characters"},
             {"\xff", "UTF-8"}};
  struct jp_error error;
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct unix_socket made;
    assert_int_equal(unix_socket_check_path(bad[i].path, &error), JP_INVALID);
    assert_non_null(strstr(error.text, bad[i].part));
    assert_int_equal(unix_socket_bind(bad[i].path, &UNIX_SOCKET_OWN_USER, &made, &error), JP_INVALID);
  }
  longest[107] = '\0';
  struct unix_socket made = bind_socket(longest);
  int client = connect_raw(longest);
  assert_true(client >= 0);
  close(client);
  close_socket(&made);
  made = bind_socket("\xc3\xa4 b:c,d#%");
  close_socket(&made);
}

static mode_t mode_of(const char *path)
{
  struct stat found;
  assert_int_equal(lstat(path, &found), 0);
  return found.st_mode & 0777;
}

UNIT_TEST_WITH(a_file_gets_its_mode_whatever_the_umask, make_folder, remove_folder)
{
  const struct unix_socket_access cases[] = {{.mode = 0600, .group = (gid_t)-1},
                                             {.mode = 0660, .group = getegid()},
                                             {.mode = 0666, .group = (gid_t)-1}};
  mode_t before = umask(0077);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct unix_socket made;
    struct jp_error error;
    assert_int_equal(unix_socket_bind("m", &cases[i], &made, &error), JP_OK);
    assert_int_equal(mode_of("m"), cases[i].mode);
    close_socket(&made);
  }
  umask(before);
}

UNIT_MAIN
