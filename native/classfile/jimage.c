#include "classfile/jimage.h"

#include "base/array.h"
#include "classfile/class_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The types of the library's exported functions. */
struct jimage_file;
typedef bool jimage_visitor(struct jimage_file *image, const char *module, const char *version,
                            const char *package, const char *name, const char *extension, void *context);

struct jimage_library {
  struct jimage_file *(*open)(const char *path, int32_t *error);
  void (*close)(struct jimage_file *image);
  const char *(*module_of)(struct jimage_file *image, const char *package); /* with '/' */
  int64_t (*find)(struct jimage_file *image, const char *module, const char *version, const char *name,
                  int64_t *size);
  int64_t (*get)(struct jimage_file *image, int64_t location, char *bytes, int64_t size);
  void (*visit)(struct jimage_file *image, jimage_visitor *visitor, void *context);
};

struct jimage_class {
  const char *module;  /* in the arena, as is name; modules are compared by address */
  struct text package; /* with '/' */
  struct text path;    /* package and name, with ".class", NUL-terminated */
};

struct jimage {
  struct jimage_library library;
  struct jimage_file *file;
  char path[4096];
  struct arena arena;
  struct array classes; /* struct jimage_class; empty: they are not listed yet */
  struct array exports; /* struct text: packages with dots; sorted. Empty: they are not read yet */
  const char *last_module;
  const char *exports_of;   /* the module that was searched for the package last; NULL: none */
  struct array own_exports; /* struct text: the exports of that module */
  struct buffer bytes;      /* of a module-info */
  bool no_memory;
};

/* The image's functions take a version, and ignore it. */
static const char any_version[] = "9";

/* libjimage.so depends on libjvm.so and does not name its path, so libjvm.so must be loaded first. In the
 * peer this has happened already. Loading libjvm.so starts no JVM, but the library cannot be unloaded. */
static void load_jvm_library(struct jimage *jimage, const char *java_home)
{
  void *present = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
  if (present != NULL) {
    dlclose(present);
    return;
  }
  snprintf(jimage->path, sizeof jimage->path, "%s/lib/server/libjvm.so", java_home);
  /* If this fails, loading libjimage.so fails, too. */
  (void)dlopen(jimage->path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

static enum jp_status load_library(struct jimage *jimage, const char *java_home, struct jp_error *error)
{
  struct jimage_library *library = &jimage->library;
  const struct {
    const char *name;
    void **function;
  } functions[] = {{"JIMAGE_Open", (void **)&library->open},
                   {"JIMAGE_Close", (void **)&library->close},
                   {"JIMAGE_PackageToModule", (void **)&library->module_of},
                   {"JIMAGE_FindResource", (void **)&library->find},
                   {"JIMAGE_GetResource", (void **)&library->get},
                   {"JIMAGE_ResourceIterator", (void **)&library->visit}};
  load_jvm_library(jimage, java_home);
  snprintf(jimage->path, sizeof jimage->path, "%s/lib/libjimage.so", java_home);
  /* The library is never unloaded, because it has its own tables, and a JVM in this process needs it in any
   * case. */
  void *handle = dlopen(jimage->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL)
    return jp_fail(error, JP_NOT_FOUND, "cannot read the JDK's classes: cannot load %s: %s", jimage->path,
                   dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    *functions[i].function = dlsym(handle, functions[i].name);
    if (*functions[i].function == NULL)
      return jp_fail(error, JP_NOT_FOUND, "cannot read the JDK's classes: %s has no %s", jimage->path,
                     functions[i].name);
  }
  return JP_OK;
}

/* Makes "package/name.class", NUL-terminated; data NULL: no memory. printf would be too slow for the 27,000
 * classes of a JDK. */
static struct text join_path(struct arena *arena, struct text package, struct text name)
{
  static const char end[] = ".class";
  size_t slash = package.len > 0 ? 1 : 0;
  size_t length = package.len + slash + name.len + sizeof end - 1;
  char *path = arena_alloc(arena, length + 1);
  if (path == NULL)
    return TEXT_ABSENT;
  char *at = mempcpy(path, package.data, package.len);
  if (slash > 0)
    *at++ = '/';
  at = mempcpy(at, name.data, name.len);
  memcpy(at, end, sizeof end);
  return (struct text){path, length};
}

static bool note_class(struct jimage_file *image, const char *module, const char *version,
                       const char *package, const char *name, const char *extension, void *context)
{
  (void)image;
  (void)version;
  struct jimage *jimage = context;
  if (strcmp(extension, "class") != 0)
    return true;
  size_t package_length = strlen(package);
  struct text path = join_path(&jimage->arena, (struct text){package, package_length}, text_of(name));
  struct jimage_class *class = array_add(&jimage->classes, 1);
  if (jimage->last_module == NULL || strcmp(jimage->last_module, module) != 0)
    jimage->last_module = arena_printf(&jimage->arena, "%s", module).data;
  if (path.data == NULL || class == NULL || jimage->last_module == NULL) {
    jimage->no_memory = true;
    return false;
  }
  *class = (struct jimage_class){jimage->last_module, text_slice(path, 0, package_length), path};
  return true;
}

/* Orders by module, then by path. This is nearly the order in the image, so that the image is read
 * forwards. */
static int compare_places(const void *left, const void *right)
{
  const struct jimage_class *a = left;
  const struct jimage_class *b = right;
  int order = strcmp(a->module, b->module);
  return order != 0 ? order : strcmp(a->path.data, b->path.data);
}

enum jp_status jimage_list(struct jimage *jimage, size_t *count, struct jp_error *error)
{
  if (jimage->classes.count == 0) {
    jimage->no_memory = false;
    jimage->library.visit(jimage->file, note_class, jimage);
    if (jimage->no_memory) {
      jimage->classes.count = 0;
      return jp_fail_memory(error, "the JDK's classes");
    }
    if (jimage->classes.count == 0)
      return jp_fail(error, JP_IO, "cannot read the JDK's classes: %s has none", jimage->path);
  }
  *count = jimage->classes.count;
  return JP_OK;
}

struct text jimage_class_path(const struct jimage *jimage, size_t index)
{
  const struct jimage_class *class = (const struct jimage_class *)jimage->classes.items + index;
  return class->package.len == 0 ? TEXT_ABSENT /* it is a module-info */
                                 : text_slice(class->path, 0, class->path.len - (sizeof ".class" - 1));
}

static enum jp_status read_bytes(const struct jimage *jimage, const char *module, const char *path,
                                 struct buffer *bytes, struct jp_error *error)
{
  int64_t wanted = 0;
  int64_t location = jimage->library.find(jimage->file, module, any_version, path, &wanted);
  if (location == 0)
    return jp_fail(error, JP_NOT_FOUND, "%s has no %s in module %s", jimage->path, path, module);
  if (wanted <= 0 || wanted > CLASS_BYTES_MAX)
    return jp_fail(error, JP_IO, "cannot read %s of module %s in %s", path, module, jimage->path);
  buffer_clear(bytes);
  if (buffer_reserve(bytes, (size_t)wanted) == NULL)
    return jp_fail_memory(error, "the JDK's classes");
  bytes->len = (size_t)wanted;
  if (jimage->library.get(jimage->file, location, bytes->data, wanted) != wanted)
    return jp_fail(error, JP_IO, "cannot read %s of module %s in %s", path, module, jimage->path);
  return JP_OK;
}

/* Adds the packages that a module exports to all modules. jimage->bytes has the module-info. */
static enum jp_status add_exports(struct jimage *jimage, struct array *exports, struct jp_error *error)
{
  struct arena arena;
  struct class_file file;
  arena_init(&arena);
  enum jp_status status =
      class_file_parse((const uint8_t *)jimage->bytes.data, jimage->bytes.len, &arena, &file, error);
  for (size_t i = 0; status == JP_OK && i < file.export_count; i++) {
    struct text *added = array_add(exports, 1);
    if (added != NULL)
      *added = arena_text(&jimage->arena, file.exports[i]);
    if (added == NULL || added->data == NULL)
      status = jp_fail_memory(error, "the JDK's classes");
  }
  arena_fini(&arena);
  return status;
}

/* '/' and '.' compare equal. */
static int compare_packages(const void *left, const void *right)
{
  const struct text *a = left;
  const struct text *b = right;
  size_t shorter = a->len < b->len ? a->len : b->len;
  for (size_t i = 0; i < shorter; i++) {
    char x = a->data[i] == '/' ? '.' : a->data[i];
    char y = b->data[i] == '/' ? '.' : b->data[i];
    if (x != y)
      return x < y ? -1 : 1;
  }
  return (a->len > b->len) - (a->len < b->len);
}

enum jp_status jimage_begin_read(struct jimage *jimage, size_t *count, struct jp_error *error)
{
  enum jp_status listed = jimage_list(jimage, count, error);
  if (listed != JP_OK)
    return listed;
  qsort(jimage->classes.items, jimage->classes.count, sizeof(struct jimage_class), compare_places);
  const struct jimage_class *classes = jimage->classes.items;
  for (size_t i = 0; i < jimage->classes.count; i++) {
    if (!text_equal(classes[i].path, TEXT("module-info.class")))
      continue;
    enum jp_status status =
        read_bytes(jimage, classes[i].module, classes[i].path.data, &jimage->bytes, error);
    if (status == JP_OK)
      status = add_exports(jimage, &jimage->exports, error);
    if (status != JP_OK)
      return status;
  }
  if (jimage->exports.count > 0)
    qsort(jimage->exports.items, jimage->exports.count, sizeof(struct text), compare_packages);
  return JP_OK;
}

enum jp_status jimage_read(struct builder *builder, const struct jimage *jimage, size_t from, size_t to,
                           struct jp_error *error)
{
  const struct jimage_class *classes = jimage->classes.items;
  struct buffer bytes;
  enum jp_status status = JP_OK;
  buffer_init(&bytes);
  for (size_t i = from; status == JP_OK && i < to; i++) {
    const struct jimage_class *class = &classes[i];
    if (class->package.len == 0)
      continue; /* it is a module-info */
    status = read_bytes(jimage, class->module, class->path.data, &bytes, error);
    if (status == JP_NOT_FOUND)
      status = JP_IO;
    if (status != JP_OK)
      break;
    bool exported =
        jimage->exports.count > 0 && bsearch(&class->package, jimage->exports.items, jimage->exports.count,
                                             sizeof(struct text), compare_packages) != NULL;
    struct text path = text_slice(class->path, 0, class->path.len - (sizeof ".class" - 1));
    status = builder_add_class(builder, (const uint8_t *)bytes.data, bytes.len, path,
                               exported ? CATALOG_JDK_EXPORTED : CATALOG_JDK_INTERNAL,
                               &(struct class_place){jimage->path, class->path.data}, error);
  }
  buffer_fini(&bytes);
  return status;
}

/* ---- one class ---- */

static enum jp_status find_exported(struct jimage *jimage, const char *module, struct text package,
                                    bool *is_exported, struct jp_error *error)
{
  if (jimage->exports_of != module) {
    jimage->exports_of = NULL;
    jimage->own_exports.count = 0;
    enum jp_status status = read_bytes(jimage, module, "module-info.class", &jimage->bytes, error);
    if (status == JP_OK)
      status = add_exports(jimage, &jimage->own_exports, error);
    if (status != JP_OK)
      return status == JP_NOT_FOUND ? JP_IO : status;
    jimage->exports_of = module;
  }
  const struct text *exports = jimage->own_exports.items;
  *is_exported = false;
  for (size_t i = 0; i < jimage->own_exports.count && !*is_exported; i++)
    *is_exported = compare_packages(&exports[i], &package) == 0;
  return JP_OK;
}

enum jp_status jimage_find(struct jimage *jimage, struct text path, struct buffer *bytes, bool *is_exported,
                           struct jp_error *error)
{
  char package[JIMAGE_PATH_MAX];
  char entry[JIMAGE_PATH_MAX];
  size_t slash = text_find_last(path, '/');
  if (slash == SIZE_MAX || slash == 0 || path.len + sizeof ".class" > sizeof entry)
    return JP_NOT_FOUND;
  snprintf(package, sizeof package, "%.*s", (int)slash, path.data);
  snprintf(entry, sizeof entry, "%.*s.class", TEXT_ARGS(path));
  const char *module = jimage->library.module_of(jimage->file, package);
  if (module == NULL || module[0] == '\0') /* empty for packages that only hold packages ("java") */
    return JP_NOT_FOUND;
  enum jp_status status = find_exported(jimage, module, text_slice(path, 0, slash), is_exported, error);
  return status == JP_OK ? read_bytes(jimage, module, entry, bytes, error) : status;
}

struct name_visit {
  jimage_name_visitor *visitor;
  void *context;
  char name[JIMAGE_PATH_MAX];
};

static bool visit_name(struct jimage_file *image, const char *module, const char *version,
                       const char *package, const char *name, const char *extension, void *context)
{
  (void)image;
  (void)version;
  struct name_visit *visit = context;
  size_t package_length = strlen(package);
  size_t name_length = strlen(name);
  bool is_of_jdk = strncmp(module, "java.", 5) == 0 || strncmp(module, "jdk.", 4) == 0;
  if (!is_of_jdk || strcmp(extension, "class") != 0 || package_length == 0 ||
      package_length + 1 + name_length > sizeof visit->name)
    return true;
  for (size_t i = 0; i < package_length; i++)
    visit->name[i] = package[i] == '/' ? '.' : package[i];
  visit->name[package_length] = '.';
  memcpy(visit->name + package_length + 1, name, name_length);
  return visit->visitor((struct text){visit->name, package_length + 1 + name_length}, visit->context);
}

void jimage_visit_names(const struct jimage *jimage, jimage_name_visitor *visitor, void *context)
{
  struct name_visit visit = {.visitor = visitor, .context = context};
  jimage->library.visit(jimage->file, visit_name, &visit);
}

/* ---- */

enum jp_status jimage_open(const char *java_home, struct jimage **jimage, struct jp_error *error)
{
  struct jimage *opened = calloc(1, sizeof *opened);
  if (opened == NULL)
    return jp_fail_memory(error, "the JDK's classes");
  arena_init(&opened->arena);
  array_init(&opened->classes, sizeof(struct jimage_class));
  array_init(&opened->exports, sizeof(struct text));
  array_init(&opened->own_exports, sizeof(struct text));
  enum jp_status status = load_library(opened, java_home, error);
  int32_t code = 0;
  if (status == JP_OK) {
    snprintf(opened->path, sizeof opened->path, "%s/lib/modules", java_home);
    opened->file = opened->library.open(opened->path, &code);
    if (opened->file == NULL)
      status = jp_fail(error, JP_IO, "cannot read the JDK's classes: %s is no readable image (%d)",
                       opened->path, (int)code);
  }
  if (status == JP_OK)
    *jimage = opened;
  else
    jimage_close(opened);
  return status;
}

void jimage_close(struct jimage *jimage)
{
  if (jimage == NULL)
    return;
  if (jimage->file != NULL)
    jimage->library.close(jimage->file);
  arena_fini(&jimage->arena);
  array_fini(&jimage->classes);
  array_fini(&jimage->exports);
  array_fini(&jimage->own_exports);
  buffer_fini(&jimage->bytes);
  free(jimage);
}

unsigned jimage_feature_version(const char *java_home)
{
  char path[4096];
  char line[512];
  unsigned first = 0;
  unsigned second = 0;
  snprintf(path, sizeof path, "%s/release", java_home);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  while (first == 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "JAVA_VERSION=\"%4u.%4u", &first, &second) == 2 && first == 1)
      first = second; /* "1.8.0" */
  }
  fclose(file);
  return first;
}
