/*
 * The header that tests/release/sabotage.py puts before each source file that it changes: the switch between
 * the unchanged file and one of its changes. SABOTAGE is the number of the change that is on;
 * SABOTAGE_REACHED is a file whose byte n says that change n was reached by a program that ran with it.
 */
#ifndef SABOTAGE_H
#define SABOTAGE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SABOTAGE_REACHED_SIZE = 4096 };

static int sabotage_number = -1;
static volatile unsigned char *sabotage_reached;

__attribute__((constructor)) static void sabotage_begin(void)
{
  const char *number = getenv("SABOTAGE");
  if (number != NULL)
    sabotage_number = atoi(number);
  const char *path = getenv("SABOTAGE_REACHED");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return;
  void *map = mmap(NULL, SABOTAGE_REACHED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map != MAP_FAILED)
    sabotage_reached = map;
  close(file);
}

static inline bool sabotage_on(int number)
{
  if (sabotage_reached != NULL)
    sabotage_reached[number] = 1;
  return sabotage_number == number;
}

#endif
