/* Runs a fuzz target over the files of a folder, so that the findings of fuzzing are tested again. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  struct stat facts;
  int failed = fstat(fileno(file), &facts) != 0;
  size_t size = failed ? 0 : (size_t)facts.st_size;
  uint8_t *data = malloc(size + 1);
  if (data == NULL || fread(data, 1, size, file) != size)
    failed = 1;
  else
    LLVMFuzzerTestOneInput(data, size);
  free(data);
  fclose(file);
  return failed;
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  DIR *folder = opendir(argv[1]);
  if (folder == NULL) {
    perror(argv[1]);
    return 1;
  }
  int failed = 0;
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.')
      continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    failed |= replay_file(path);
    count++;
  }
  closedir(folder);
  printf("%d inputs replayed\n", count);
  return failed != 0 || count == 0;
}
