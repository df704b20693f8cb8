/* Listening Unix sockets: their files, who is in the way of one, and who may connect. */
#include "net/unix_socket.h"

#include "tests/unit/await.h"
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
#include <sys/wait.h>
#include <unistd.h>

enum { STRANGER = 65534, RACERS = 8, RACES = 50, CONNECTED = 10, KEPT_OUT };

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

static struct unix_socket bind_well(const char *path)
{
  struct unix_socket made;
  struct jp_error error;
  enum jp_status status = unix_socket_bind(path, &made, &error);
  if (status != JP_OK)
    print_error("%s\n", error.text);
  assert_int_equal(status, JP_OK);
  return made;
}

/* What is at the path stays as it is. */
static void expect_refusal(const char *path, const char *part)
{
  struct unix_socket made;
  struct jp_error error;
  ino_t before = inode_of(path);
  assert_int_equal(unix_socket_bind(path, &made, &error), JP_IO);
  if (strstr(error.text, path) == NULL || strstr(error.text, part) == NULL)
    fail_msg("\"%s\" does not say \"%s\" of %s", error.text, part, path);
  assert_int_equal(made.fd, -1);
  assert_null(made.path);
  assert_int_equal(inode_of(path), before);
}

static void close_well(struct unix_socket *made)
{
  unix_socket_remove(made);
  close(made->fd);
}

/* A socket of this type, bound to the path; not listening. */
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

static void a_file_is_its_users_alone(void **state)
{
  (void)state;
  struct stat found;
  mode_t mask = umask(0);
  struct unix_socket made = bind_well("a");
  umask(mask);
  assert_int_equal(lstat("a", &found), 0);
  assert_int_equal(found.st_mode, S_IFSOCK | 0600);
  assert_int_equal(fcntl(made.fd, F_GETFD), FD_CLOEXEC);
  assert_true((fcntl(made.fd, F_GETFL) & O_NONBLOCK) != 0);
  int client = connect_raw("a");
  assert_true(client >= 0);
  close(client);
  assert_int_equal(count_files(), 1); /* no lock stays */
  close_well(&made);
  assert_int_equal(count_files(), 0);
}

static void a_relative_path_is_told_as_an_absolute_one(void **state)
{
  (void)state;
  char wanted[128];
  struct unix_socket made = bind_well("b.sock");
  snprintf(wanted, sizeof wanted, "%s/b.sock", folder);
  assert_string_equal(made.path, wanted);
  assert_int_equal(chdir("/"), 0);
  close_well(&made);
  assert_int_equal(chdir(folder), 0);
  assert_int_equal(inode_of("b.sock"), 0);
}

static void a_stale_socket_is_replaced(void **state)
{
  (void)state;
  struct unix_socket dead = bind_well("s");
  close(dead.fd);
  struct unix_socket made = bind_well("s");
  assert_int_equal(inode_of("s"), made.inode);
  close_well(&made);
  free(dead.path);
  close(bind_raw("s", SOCK_DGRAM)); /* of any type */
  made = bind_well("s");
  close_well(&made);
}

static void a_live_socket_is_not_replaced(void **state)
{
  (void)state;
  struct unix_socket first = bind_well("l");
  expect_refusal("l", "in use");
  close_well(&first);

  int datagrams = bind_raw("l", SOCK_DGRAM);
  expect_refusal("l", "in use");
  close(datagrams);
  unlink("l");

  int busy = bind_raw("l", SOCK_STREAM);
  assert_int_equal(listen(busy, 0), 0);
  int clients[4];
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    clients[i] = connect_raw("l"); /* until its backlog is full */
  assert_int_equal(clients[COUNT_OF(clients) - 1], -1);
  expect_refusal("l", "in use");
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    close(clients[i]);
  close(busy);
}

static void what_is_no_socket_stays(void **state)
{
  (void)state;
  write_file("f", "content");
  expect_refusal("f", "is not a socket");
  assert_int_equal(mkdir("d", 0700), 0);
  expect_refusal("d", "is not a socket");
  assert_int_equal(symlink("nowhere", "link"), 0);
  expect_refusal("link", "is not a socket");
  close(bind_raw("stale", SOCK_STREAM));
  assert_int_equal(symlink("stale", "link2"), 0);
  expect_refusal("link2", "is not a socket");
  assert_int_equal(mkfifo("fifo", 0600), 0);
  expect_refusal("fifo", "is not a socket");
}

static void a_folder_has_to_be_there(void **state)
{
  (void)state;
  expect_refusal("no/x", "its folder no: No such file");
  write_file("f", "content");
  expect_refusal("f/x", "Not a directory");
  struct unix_socket made = bind_well("./y");
  close_well(&made);
}

static void another_file_is_not_removed(void **state)
{
  (void)state;
  struct unix_socket first = bind_well("o");
  unlink("o");
  struct unix_socket second = bind_well("o");
  unix_socket_remove(&first);
  close(first.fd);
  assert_int_equal(inode_of("o"), second.inode);
  unlink("o");
  write_file("o", "content");
  close_well(&second);
  assert_int_not_equal(inode_of("o"), 0);
  unix_socket_remove(&second); /* twice is once */
}

static void the_lock_is_waited_for_and_taken(void **state)
{
  (void)state;
  int holder = open("k.lock", O_RDWR | O_CREAT, 0600);
  assert_int_equal(flock(holder, LOCK_EX), 0);
  expect_refusal("k", "another process holds k.lock");
  close(holder); /* one that was left behind is no obstacle */
  struct unix_socket made = bind_well("k");
  assert_int_equal(inode_of("k.lock"), 0);
  close_well(&made);

  write_file("k.lock", "somebody's");
  made = bind_well("k");
  assert_int_not_equal(inode_of("k.lock"), 0);
  close_well(&made);
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
  racer->status = unix_socket_bind("r", &racer->made, &error);
  return NULL;
}

static void one_of_many_gets_a_stale_path(void **state)
{
  (void)state;
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
      close_well(&racers[i].made);
    }
    assert_int_equal(count_files(), 0);
  }
}

static void paths_are_checked(void **state)
{
  (void)state;
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
    assert_int_equal(unix_socket_bind(bad[i].path, &made, &error), JP_INVALID);
  }
  longest[107] = '\0';
  struct unix_socket made = bind_well(longest);
  int client = connect_raw(longest);
  assert_true(client >= 0);
  close(client);
  close_well(&made);
  made = bind_well("\xc3\xa4 b:c,d#%");
  close_well(&made);
}

/* Connects as a user with fewer rights. */
static _Noreturn void connect_as_stranger(const char *path)
{
  if (setresgid(STRANGER, STRANGER, STRANGER) != 0 || setresuid(STRANGER, STRANGER, STRANGER) != 0)
    _exit(1);
  _exit(connect_raw(path) >= 0 ? CONNECTED : errno == EACCES ? KEPT_OUT : 1);
}

static int exit_of_stranger(const char *path)
{
  pid_t child = fork();
  if (child == 0)
    connect_as_stranger(path);
  int status = AWAIT_CHILD(child);
  return WEXITSTATUS(status);
}

static void only_the_same_user_is_known(void **state)
{
  (void)state;
  uid_t user;
  struct unix_socket made = bind_well("u");
  int client = connect_raw("u");
  int server = accept(made.fd, NULL, NULL);
  assert_true(unix_socket_is_same_user(server, &user));
  assert_int_equal(user, geteuid());
  close(client);
  close(server);
  if (geteuid() == 0) {
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(exit_of_stranger("u"), KEPT_OUT);
    assert_int_equal(chmod("u", 0666), 0);
    assert_int_equal(exit_of_stranger("u"), CONNECTED);
    server = accept(made.fd, NULL, NULL);
    assert_false(unix_socket_is_same_user(server, &user));
    assert_int_equal(user, STRANGER);
    close(server);
  } else {
    print_message("not root: no client of another user was tried\n");
  }
  close_well(&made);
  int pair[2];
  assert_int_equal(pipe(pair), 0);
  assert_false(unix_socket_is_same_user(pair[0], &user));
  close(pair[0]);
  close(pair[1]);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
  const struct CMUnitTest tests[] = {
      CASE(a_file_is_its_users_alone),     CASE(a_relative_path_is_told_as_an_absolute_one),
      CASE(a_stale_socket_is_replaced),    CASE(a_live_socket_is_not_replaced),
      CASE(what_is_no_socket_stays),       CASE(a_folder_has_to_be_there),
      CASE(another_file_is_not_removed),   CASE(the_lock_is_waited_for_and_taken),
      CASE(one_of_many_gets_a_stale_path), CASE(paths_are_checked),
      CASE(only_the_same_user_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
