/*
 * jpeer-bench-jvm: only a JVM, the floor of the peer's memory. Prints "ready" when the JVM is up; ends with its
 * standard input.
 *
 * usage: jpeer-bench-jvm LIBJVM [JVM OPTIONS]
 */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK_BYTES = 1024 * 1024 };

struct machine {
  char **words; /* the library, then its options */
  int count;
};

typedef jint(JNICALL *create_function)(JavaVM **vm, void **env, void *args);

static int create(const struct machine *machine)
{
  void *library = dlopen(machine->words[0], RTLD_NOW | RTLD_GLOBAL);
  create_function make = library == NULL ? NULL : (create_function)dlsym(library, "JNI_CreateJavaVM");
  JavaVMOption *options = calloc((size_t)machine->count, sizeof *options);
  if (make == NULL || options == NULL) {
    fprintf(stderr, "jpeer-bench-jvm: %s is no JVM\n", machine->words[0]);
    return 1;
  }
  for (int i = 1; i < machine->count; i++)
    options[i - 1].optionString = machine->words[i];
  JavaVMInitArgs args = {.version = JNI_VERSION_10, .nOptions = machine->count - 1, .options = options};
  JavaVM *vm;
  JNIEnv *env;
  return make(&vm, (void **)&env, &args) == JNI_OK ? 0 : 1;
}

/* Starts the JVM on a second thread, as the peer and the java command do. */
static void *be_main_thread(void *argument)
{
  int code = create(argument);
  if (code != 0)
    _exit(code);
  puts("ready");
  fflush(stdout);
  char ignored;
  while (read(STDIN_FILENO, &ignored, 1) > 0)
    ;
  _exit(0);
}

int main(int argc, char **argv)
{
  struct machine machine = {argv + 1, argc - 1};
  pthread_attr_t attributes;
  pthread_t thread;
  if (argc < 2)
    return 2;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  if (pthread_create(&thread, &attributes, be_main_thread, &machine) != 0)
    return 1;
  pthread_join(thread, NULL);
  return 0;
}
