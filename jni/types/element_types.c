#include "jni/types/element_types.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH_MAX = 16, ARGUMENTS_MAX = 16, VISITED_MAX = 256, ACC_STATIC = 0x0008 };

/* The type arguments of a class type by the names of the variables. */
struct bindings {
  size_t count;
  struct text names[ARGUMENTS_MAX];
  struct text types[ARGUMENTS_MAX]; /* signatures; data NULL: not known */
};

struct finding {
  struct jvm_thread *thread;
  struct arena *arena;
  struct jvm_class *context; /* its loader finds the classes that the types name */
};

/* A class type that was read from a signature. */
struct class_type {
  struct text name; /* binary, with dots */
  size_t count;
  struct text arguments[ARGUMENTS_MAX]; /* with their '+', '-' or '*'; borrowed from the signature */
};

/* ---- signatures ---- */

/* The end of the type that begins at `at`, or SIZE_MAX: malformed. */
static size_t find_type_end(struct text signature, size_t at)
{
  while (at < signature.len &&
         (signature.data[at] == '[' || signature.data[at] == '+' || signature.data[at] == '-'))
    at++;
  if (at >= signature.len)
    return SIZE_MAX;
  if (signature.data[at] != 'L' && signature.data[at] != 'T')
    return at + 1;
  size_t depth = 0;
  for (; at < signature.len; at++) {
    char c = signature.data[at];
    depth += c == '<';
    depth -= c == '>' && depth > 0;
    if (c == ';' && depth == 0)
      return at + 1;
  }
  return SIZE_MAX;
}

/* Removes the first type from *rest. data NULL: malformed. */
static struct text take_type(struct text *rest)
{
  size_t end = find_type_end(*rest, 0);
  struct text type = end == SIZE_MAX ? TEXT_ABSENT : text_slice(*rest, 0, end);
  *rest = end == SIZE_MAX ? TEXT("") : text_slice(*rest, end, rest->len);
  return type;
}

/* Removes the formal type parameters from *rest and adds their names. False: malformed, or there are too
 * many. */
static bool take_formals(struct text *rest, struct bindings *formals)
{
  formals->count = 0;
  if (rest->len == 0 || rest->data[0] != '<')
    return true;
  struct text left = text_slice(*rest, 1, rest->len);
  while (left.len > 0 && left.data[0] != '>') {
    const char *colon = memchr(left.data, ':', left.len);
    if (colon == NULL || formals->count == ARGUMENTS_MAX)
      return false;
    formals->names[formals->count] = text_slice(left, 0, (size_t)(colon - left.data));
    formals->types[formals->count++] = TEXT_ABSENT;
    left = text_slice(left, (size_t)(colon - left.data), left.len);
    while (left.len > 0 && left.data[0] == ':') { /* bounds, the first of which may be empty */
      left = text_slice(left, 1, left.len);
      if (left.len > 0 && left.data[0] != ':' && take_type(&left).data == NULL)
        return false;
    }
  }
  *rest = left.len == 0 ? left : text_slice(left, 1, left.len);
  return left.len > 0;
}

static bool read_arguments(struct text *rest, struct class_type *type)
{
  type->count = 0;
  *rest = text_slice(*rest, 1, rest->len);
  while (rest->len > 0 && rest->data[0] != '>') {
    if (type->count == ARGUMENTS_MAX)
      return false;
    type->arguments[type->count] = take_type(rest);
    if (type->arguments[type->count++].data == NULL)
      return false;
  }
  *rest = rest->len == 0 ? *rest : text_slice(*rest, 1, rest->len);
  return true;
}

/* "Ljava/util/Map<TK;>.Entry<TV;>;": the arguments of the last part count. */
static bool read_class_type(struct text signature, struct arena *arena, struct class_type *type)
{
  char *name = arena_alloc(arena, signature.len + 1);
  size_t length = 0;
  struct text rest = signature.len == 0 ? signature : text_slice(signature, 1, signature.len);
  if (name == NULL || signature.len == 0 || signature.data[0] != 'L')
    return false;
  type->count = 0;
  while (rest.len > 0 && rest.data[0] != ';') {
    char c = rest.data[0];
    if (c == '<') {
      if (!read_arguments(&rest, type))
        return false;
      continue;
    }
    if (c == '.')
      type->count = 0;
    name[length++] = c == '/' ? '.' : c == '.' ? '$' : c;
    rest = text_slice(rest, 1, rest.len);
  }
  type->name = (struct text){name, length};
  return rest.len > 0;
}

/* Copies the type with variables replaced by their bindings. A type argument with an unbound variable becomes
 * "*", also if it is an array or a wildcard of the variable. data NULL: memory is short, or the whole type is
 * an unbound variable. */
static struct text substitute_variables(struct text type, const struct bindings *bindings,
                                        struct arena *arena)
{
  struct buffer out;
  bool is_known = true;
  buffer_init(&out);
  for (size_t i = 0; i < type.len;) {
    bool begins_type = i == 0 || strchr("<;>[+-*", type.data[i - 1]) != NULL;
    size_t end = begins_type && type.data[i] == 'T' ? find_type_end(type, i) : SIZE_MAX;
    if (end == SIZE_MAX) {
      buffer_append_char(&out, type.data[i++]);
      continue;
    }
    struct text variable = text_slice(type, i + 1, end - 1);
    struct text bound = TEXT_ABSENT;
    for (size_t at = 0; bound.data == NULL && at < bindings->count; at++)
      if (text_equal(bindings->names[at], variable))
        bound = bindings->types[at];
    bool is_prefixed = out.len > 0 && strchr("[+-", out.data[out.len - 1]) != NULL;
    bool is_wild = bound.data != NULL && bound.len > 0 && strchr("+-*", bound.data[0]) != NULL;
    if (bound.data == NULL || (is_prefixed && is_wild)) {
      while (out.len > 0 && strchr("[+-", out.data[out.len - 1]) != NULL)
        out.len--;
      is_known = is_known && out.len > 0;
      bound = TEXT("*");
    }
    buffer_append_text(&out, bound);
    i = end;
  }
  struct text made = is_known && !out.failed ? arena_text(arena, buffer_text(&out)) : TEXT_ABSENT;
  buffer_fini(&out);
  return made;
}

/* ---- the bindings of a class ---- */

enum target_kind { TARGET_CLASS, TARGET_COLLECTION, TARGET_MAP, TARGET_OPTIONAL };

struct target {
  enum target_kind kind;
  const struct jvm_class *class; /* TARGET_CLASS */
};

static bool is_target(const struct target *target, const struct jvm_class *class)
{
  switch (target->kind) {
  case TARGET_CLASS:
    return class == target->class;
  case TARGET_COLLECTION:
    return text_equal(class->name, TEXT("java.lang.Iterable"));
  case TARGET_MAP:
    return text_equal(class->name, TEXT("java.util.Map"));
  case TARGET_OPTIONAL:
    return text_equal(class->name, TEXT("java.util.Optional"));
  }
  return false;
}

static struct text read_class_signature(const struct finding *finding, const struct jvm_class *class)
{
  jvmtiEnv *jvmti = finding->thread->jvmti;
  char *signature = NULL;
  char *generic = NULL;
  struct text text = TEXT("");
  if ((*jvmti)->GetClassSignature(jvmti, class->ref, &signature, &generic) == JVMTI_ERROR_NONE &&
      generic != NULL)
    text = jvm_text_of_modified(finding->thread, generic, finding->arena);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)generic);
  return text;
}

/* Finds the signature of a direct supertype in the list of the class's signature; data NULL: the supertype is
 * not generic. */
static bool find_above(struct text supertypes, struct text name, struct arena *arena, struct class_type *type)
{
  while (supertypes.len > 0) {
    struct text each = take_type(&supertypes);
    if (each.data == NULL)
      return false;
    if (read_class_type(each, arena, type) && text_equal(type->name, name))
      return true;
  }
  return false;
}

static size_t count_known(const struct bindings *bindings)
{
  size_t known = 0;
  for (size_t i = 0; i < bindings->count; i++)
    known += bindings->types[i].data != NULL;
  return known;
}

/* A search of supertypes. It visits a class at most once for each number of its arguments that are known, so
 * it does not follow every path to the class. */
struct search {
  const struct finding *finding;
  const struct target *target;
  struct {
    const struct jvm_class *class;
    size_t known;
  } visited[VISITED_MAX];
  size_t count;
};

/* False: an earlier visit of the class had as many known arguments, or too many classes were visited. */
static bool visit_class(struct search *search, const struct jvm_class *class, size_t known)
{
  size_t at = 0;
  while (at < search->count && search->visited[at].class != class)
    at++;
  if (at == VISITED_MAX || (at < search->count && search->visited[at].known >= known))
    return false;
  search->visited[at].class = class;
  search->visited[at].known = known;
  search->count += at == search->count;
  return true;
}

/* The same as find_binding, for a supertype. */
static bool search_binding(struct search *search, struct jvm_class *class, const struct text *arguments,
                           size_t count, unsigned depth, struct bindings *found)
{
  const struct finding *finding = search->finding;
  struct text signature = read_class_signature(finding, class);
  struct bindings own;
  if (depth > DEPTH_MAX || signature.data == NULL || !take_formals(&signature, &own))
    return false;
  for (size_t i = 0; i < own.count && own.count == count; i++) {
    bool is_known = arguments[i].len > 0 && arguments[i].data[0] != '*';
    own.types[i] = is_known ? arguments[i] : TEXT_ABSENT;
  }
  if (!visit_class(search, class, count_known(&own)))
    return false;
  if (is_target(search->target, class)) {
    *found = own;
    return true;
  }
  const struct member_table *table = member_table_of(finding->thread, class);
  if (table == NULL) {
    (void)throwable_take(finding->thread, NULL);
    return false;
  }
  bool is_found = false;
  for (size_t i = 0; i <= table->interface_count; i++) {
    struct jvm_class *above = i == 0 ? table->super : table->interfaces[i - 1];
    struct class_type type = {.count = 0};
    struct bindings other;
    if (above == NULL || (is_found && count_known(found) == found->count))
      continue;
    if (!find_above(signature, above->name, finding->arena, &type))
      type.count = 0;
    for (size_t at = 0; at < type.count; at++)
      type.arguments[at] = substitute_variables(type.arguments[at], &own, finding->arena);
    if (search_binding(search, above, type.arguments, type.count, depth + 1, &other) &&
        (!is_found || count_known(&other) > count_known(found))) {
      *found = other;
      is_found = true;
    }
  }
  return is_found;
}

/* Finds the arguments of the target in a class and its supertypes. `arguments` are the class's own arguments,
 * in the order of its variables. *found has the target's variables. If the target is a supertype on several
 * paths, the path with the most known arguments counts, because others may be raw. */
static bool find_binding(const struct finding *finding, struct jvm_class *class, const struct text *arguments,
                         size_t count, const struct target *target, struct bindings *found)
{
  struct search search = {.finding = finding, .target = target, .count = 0};
  return search_binding(&search, class, arguments, count, 0, found);
}

/* ---- the types of elements ---- */

static const struct element_types *read_type(const struct finding *finding, struct text type, unsigned depth);

/* The binary name of a class type or an array, as Class.getName() returns it. data NULL: a variable or a
 * primitive. */
static struct text read_type_name(const struct finding *finding, struct text type)
{
  struct class_type class;
  size_t dimensions = 0;
  while (dimensions < type.len && type.data[dimensions] == '[')
    dimensions++;
  struct text base = text_slice(type, dimensions, type.len);
  if (base.len == 1 && dimensions > 0)
    return arena_text(finding->arena, type);
  if (!read_class_type(base, finding->arena, &class))
    return TEXT_ABSENT;
  return dimensions == 0
             ? class.name
             : arena_printf(finding->arena, "%.*sL%.*s;", (int)dimensions, type.data, TEXT_ARGS(class.name));
}

/* Returns the bound of a type argument. For "? extends T" this is T, because a value for it is made as an
 * object of T. "? super T" and "?" declare nothing, because the elements may have any supertype of T. */
static struct text take_bound_type(struct text argument)
{
  if (argument.len == 0 || argument.data[0] == '*' || argument.data[0] == '-')
    return TEXT_ABSENT;
  return argument.data[0] == '+' ? text_slice(argument, 1, argument.len) : argument;
}

/* Sets the type that a type argument declares; Object declares nothing. */
static void set_declared(const struct finding *finding, struct text argument, struct jvm_type *type)
{
  struct text declared = take_bound_type(argument);
  struct text name = declared.data == NULL ? TEXT_ABSENT : read_type_name(finding, declared);
  if (name.data != NULL && !text_equal(name, TEXT("java.lang.Object")))
    *type = (struct jvm_type){.kind = 'L', .name = name, .context = finding->context};
}

/* Reads the element types of a class whose type arguments are given. */
static const struct element_types *read_container_of(const struct finding *finding, struct jvm_class *class,
                                                     const struct text *arguments, size_t count,
                                                     unsigned depth)
{
  static const struct target targets[] = {
      {.kind = TARGET_COLLECTION}, {.kind = TARGET_MAP}, {.kind = TARGET_OPTIONAL}};
  struct bindings bound;
  bool is_found = false;
  bool is_map = false;
  for (size_t i = 0; !is_found && i < sizeof targets / sizeof targets[0]; i++) {
    is_found = find_binding(finding, class, arguments, count, &targets[i], &bound);
    is_map = targets[i].kind == TARGET_MAP;
  }
  size_t wanted = is_map ? 2 : 1;
  if (!is_found || bound.count != wanted)
    return NULL;
  struct element_types *made = arena_calloc(finding->arena, 1, sizeof *made);
  if (made == NULL)
    return NULL;
  if (is_map)
    set_declared(finding, bound.types[0], &made->key);
  set_declared(finding, bound.types[wanted - 1], &made->element);
  made->inside = read_type(finding, take_bound_type(bound.types[wanted - 1]), depth + 1);
  bool is_known = made->key.kind != 0 || made->element.kind != 0 || made->inside != NULL;
  return is_known ? made : NULL;
}

/* Appends the type with class ids instead of names; a class that cannot be loaded keeps its name.
 * *is_permanent becomes false if one of the classes can be unloaded. */
static void identify_type(const struct finding *finding, struct text type, unsigned depth, struct buffer *out,
                          bool *is_permanent)
{
  struct class_type class;
  while (type.len > 0 && type.data[0] != 'L') {
    buffer_append_char(out, type.data[0]);
    type = text_slice(type, 1, type.len);
  }
  if (type.len == 0 || depth > DEPTH_MAX || !read_class_type(type, finding->arena, &class)) {
    buffer_append_text(out, type);
    return;
  }
  struct jvm_type named = {.kind = 'L', .name = class.name, .context = finding->context};
  const struct jvm_class *found = jvm_type_class(finding->thread, &named);
  if (found == NULL)
    buffer_append_text(out, class.name);
  else
    buffer_append_text(out, arena_printf(finding->arena, "%" PRIu32, found->id));
  *is_permanent = *is_permanent && (found == NULL || found->permanent);
  for (size_t i = 0; i < class.count; i++) {
    buffer_append_char(out, i == 0 ? '<' : ',');
    identify_type(finding, class.arguments[i], depth + 1, out, is_permanent);
  }
  buffer_append_text(out, class.count == 0 ? TEXT(";") : TEXT(">;"));
}

/* Sets the declared function of a callback's parameter: the type without wildcards, because a result is
 * converted to their bounds. */
static void set_function(const struct finding *finding, struct jvm_class *interface,
                         const struct class_type *type, struct declared_function *function)
{
  struct buffer signature;
  struct buffer identity;
  size_t known = 0;
  bool is_nested = false;
  bool is_permanent = true;
  if (type->count == 0)
    return;
  buffer_init(&signature);
  buffer_init(&identity);
  buffer_append_char(&signature, 'L');
  for (size_t i = 0; i < type->name.len; i++)
    buffer_append_char(&signature, type->name.data[i] == '.' ? '/' : type->name.data[i]);
  for (size_t i = 0; i < type->count; i++) {
    struct text bound = take_bound_type(type->arguments[i]);
    known += bound.data != NULL;
    is_nested = is_nested || (bound.data != NULL && memchr(bound.data, '<', bound.len) != NULL);
    buffer_append_text(&signature, i == 0 ? TEXT("<") : TEXT(""));
    buffer_append_text(&signature, bound.data == NULL ? TEXT("*") : bound);
  }
  buffer_append_text(&signature, TEXT(">;"));
  if (known > 0 && !signature.failed)
    identify_type(finding, buffer_text(&signature), 0, &identity, &is_permanent);
  if (known > 0 && !signature.failed && !identity.failed)
    *function = (struct declared_function){.interface = interface,
                                           .context = finding->context,
                                           .signature = arena_text(finding->arena, buffer_text(&signature)),
                                           .identity = arena_text(finding->arena, buffer_text(&identity)),
                                           .needs_context = is_nested || !is_permanent};
  if (function->signature.data == NULL || function->identity.data == NULL)
    function->interface = NULL; /* memory is short */
  buffer_fini(&signature);
  buffer_fini(&identity);
}

static const struct element_types *read_class(const struct finding *finding, struct text type, unsigned depth)
{
  struct class_type generic;
  struct declared_function function = {.interface = NULL};
  size_t known = 0;
  if (!read_class_type(type, finding->arena, &generic))
    return NULL;
  for (size_t i = 0; i < generic.count; i++)
    known += take_bound_type(generic.arguments[i]).data != NULL;
  if (generic.count > 0 &&
      known == 0) /* no type argument is known: the class's own bindings are read when an object of the class
                   * is made */
    return NULL;
  struct jvm_type found = {.kind = 'L', .name = generic.name, .context = finding->context};
  struct jvm_class *class = jvm_type_class(finding->thread, &found);
  if (class == NULL)
    return NULL;
  const struct element_types *container =
      read_container_of(finding, class, generic.arguments, generic.count, depth);
  if (class->is_interface)
    set_function(finding, class, &generic, &function);
  if (function.interface == NULL)
    return container;
  struct element_types *made = arena_calloc(finding->arena, 1, sizeof *made);
  if (made == NULL)
    return NULL;
  if (container != NULL)
    *made = *container;
  made->function = function;
  return made;
}

static const struct element_types *read_type(const struct finding *finding, struct text type, unsigned depth)
{
  if (type.len == 0 || depth > DEPTH_MAX)
    return NULL;
  if (type.data[0] == 'L')
    return read_class(finding, type, depth);
  if (type.data[0] != '[')
    return NULL;
  const struct element_types *inside = read_type(finding, text_slice(type, 1, type.len), depth + 1);
  struct element_types *made = inside == NULL ? NULL : arena_calloc(finding->arena, 1, sizeof *made);
  if (made != NULL)
    made->inside = inside;
  return made;
}

/* For the type to which a type variable is bound, or an array of this type; the erased type does not contain
 * it. */
static const struct element_types *read_variable(const struct finding *finding, struct text type,
                                                 unsigned depth)
{
  const struct element_types *known = read_type(finding, type, depth);
  struct element_types *made = arena_calloc(finding->arena, 1, sizeof *made);
  if (made == NULL || depth > DEPTH_MAX)
    return NULL;
  if (known != NULL)
    *made = *known;
  set_declared(finding, type, &made->self);
  if (type.data[0] == '[')
    made->inside = read_variable(finding, text_slice(type, 1, type.len), depth + 1);
  return known != NULL || made->self.kind != 0 || made->inside != NULL ? made : NULL;
}

/* Binds the variables of the member's class by the receiver's class, except those that the member declares
 * itself. */
static void bind_receiver(const struct finding *finding, struct jvm_class *owner, struct jvm_class *receiver,
                          const struct bindings *formals, struct bindings *bound)
{
  const struct target target = {.kind = TARGET_CLASS, .class = owner};
  if (receiver == NULL || !find_binding(finding, receiver, NULL, 0, &target, bound))
    bound->count = 0;
  for (size_t i = 0; i < bound->count; i++) {
    for (size_t at = 0; at < formals->count; at++) {
      if (text_equal(bound->names[i], formals->names[at]))
        bound->types[i] = TEXT_ABSENT;
    }
  }
}

/* Reads a type after its variables have been replaced by their bindings. binder: the class whose loader finds
 * the bound types. The loader of the member's class may have other classes of the same names. */
static const struct element_types *read_bound(const struct finding *finding, struct jvm_class *binder,
                                              const struct bindings *bound, struct text type)
{
  struct finding by_binder = *finding;
  struct text known = substitute_variables(type, bound, finding->arena);
  if (known.data == NULL)
    return NULL;
  if (binder == NULL || text_equal(known, type))
    return read_type(finding, known, 0);
  by_binder.context = binder;
  struct text component = type;
  while (component.len > 0 && component.data[0] == '[')
    component = text_slice(component, 1, component.len);
  bool is_variable = component.len > 0 && component.data[0] == 'T';
  struct text upper = is_variable && type.data[0] == 'T' ? take_bound_type(known) : known;
  if (!is_variable)
    return read_type(&by_binder, known, 0);
  return upper.data == NULL ? NULL : read_variable(&by_binder, upper, 0);
}

static const struct element_types *read_declared(const struct finding *finding, struct jvm_class *receiver,
                                                 const struct bindings *formals, struct text type)
{
  struct bindings bound;
  bind_receiver(finding, finding->context, receiver, formals, &bound);
  return read_bound(finding, receiver, &bound, type);
}

/* The signature after the method's own type variables, from '(' on. Length 0: no generic signature, or memory
 * is short. */
static struct text read_method_signature(const struct finding *finding, const struct jvm_method *method,
                                         struct bindings *formals)
{
  jvmtiEnv *jvmti = finding->thread->jvmti;
  char *generic = NULL;
  if ((*jvmti)->GetMethodName(jvmti, method->id, NULL, NULL, &generic) != JVMTI_ERROR_NONE || generic == NULL)
    return TEXT_ABSENT;
  struct text signature = jvm_text_of_modified(finding->thread, generic, finding->arena);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)generic);
  return signature.data != NULL && take_formals(&signature, formals) ? signature : TEXT_ABSENT;
}

/* The interface method that a method of a proxy implements, because the methods of proxies have no generic
 * signature. */
static const struct jvm_method *find_proxied(struct jvm_thread *thread, const struct jvm_method *method,
                                             struct jvm_class *class, unsigned depth)
{
  const struct member_table *table = depth > DEPTH_MAX ? NULL : member_table_of(thread, class);
  if (table == NULL) {
    (void)throwable_take(thread, NULL);
    return NULL;
  }
  for (size_t i = 0; i < table->method_count && class != method->owner; i++) {
    const struct jvm_method *own = &table->methods[i];
    if (text_equal(own->name, method->name) && strcmp(own->raw_descriptor, method->raw_descriptor) == 0)
      return own;
  }
  const struct jvm_method *found = NULL;
  for (size_t i = 0; found == NULL && i < table->interface_count; i++)
    found = find_proxied(thread, method, table->interfaces[i], depth + 1);
  return found;
}

const struct element_types *element_types_of_parameter(struct jvm_thread *thread,
                                                       const struct jvm_method *method, size_t index,
                                                       struct jvm_class *receiver, struct arena *arena)
{
  const struct jvm_method *proxied =
      method->owner->is_proxy ? find_proxied(thread, method, method->owner, 0) : NULL;
  if (proxied != NULL)
    method = proxied;
  const struct finding finding = {thread, arena, method->owner};
  struct bindings formals;
  struct text signature = read_method_signature(&finding, method, &formals);
  if (signature.len == 0)
    return NULL;
  struct text types[UINT8_MAX];
  size_t count = 0;
  struct text rest = text_slice(signature, 1, signature.len);
  while (rest.len > 0 && rest.data[0] != ')' && count < UINT8_MAX) {
    types[count] = take_type(&rest);
    if (types[count++].data == NULL)
      return NULL;
  }
  /* The parameters that javac adds to a constructor come first and are not in the signature. */
  size_t left_out = method->param_count - count;
  if (count > method->param_count || index < left_out ||
      (left_out > 0 && !text_equal(method->name, TEXT("<init>"))))
    return NULL;
  bool is_static = (method->modifiers & ACC_STATIC) != 0;
  return read_declared(&finding, is_static ? NULL : receiver, &formals, types[index - left_out]);
}

/* Binds the type variables that the interface leaves open to the type arguments of the parameter's
 * declaration. True: at least one was bound. */
static bool bind_by_place(const struct finding *finding, const struct declared_function *function,
                          const struct bindings *formals, struct bindings *bound)
{
  const struct target target = {.kind = TARGET_CLASS, .class = finding->context};
  struct bindings declared;
  struct class_type type;
  bool has_bound = false;
  if (function->interface == NULL || !read_class_type(function->signature, finding->arena, &type) ||
      !find_binding(finding, function->interface, type.arguments, type.count, &target, &declared))
    return false;
  for (size_t i = 0; i < declared.count; i++) {
    bool is_hidden = false;
    for (size_t at = 0; at < formals->count; at++)
      is_hidden = is_hidden || text_equal(declared.names[i], formals->names[at]);
    bool is_open = i >= bound->count || bound->types[i].data == NULL;
    if (is_hidden || !is_open || declared.types[i].data == NULL)
      declared.types[i] = i < bound->count ? bound->types[i] : TEXT_ABSENT;
    else
      has_bound = true;
  }
  *bound = declared;
  return has_bound;
}

const struct element_types *element_types_of_result(struct jvm_thread *thread,
                                                    const struct jvm_method *method,
                                                    struct jvm_class *interface,
                                                    const struct declared_function *function,
                                                    struct arena *arena)
{
  const struct finding finding = {thread, arena, method->owner};
  struct bindings formals;
  struct bindings bound;
  struct text signature = read_method_signature(&finding, method, &formals);
  const char *end = signature.len == 0 ? NULL : memchr(signature.data, ')', signature.len);
  if (end == NULL)
    return NULL;
  struct text rest = text_slice(signature, (size_t)(end + 1 - signature.data), signature.len);
  struct text type = take_type(&rest);
  if (type.data == NULL)
    return NULL;
  bind_receiver(&finding, method->owner, interface, &formals, &bound);
  bool is_bound_by_place = bind_by_place(&finding, function, &formals, &bound);
  return read_bound(&finding, is_bound_by_place ? function->context : interface, &bound, type);
}

bool declared_function_adds_nothing(struct jvm_thread *thread, struct jvm_class *interface,
                                    const struct declared_function *function, struct arena *arena)
{
  const struct finding finding = {thread, arena, interface};
  const struct target target = {.kind = TARGET_CLASS, .class = function->interface};
  struct bindings bound;
  return interface != function->interface &&
         (!find_binding(&finding, interface, NULL, 0, &target, &bound) || count_known(&bound) == bound.count);
}

const struct element_types *element_types_of_class(struct jvm_thread *thread, struct jvm_class *class,
                                                   struct arena *arena)
{
  const struct finding finding = {thread, arena, class};
  return read_container_of(&finding, class, NULL, 0, 0);
}

const struct element_types *element_types_of_field(struct jvm_thread *thread, const struct jvm_field *field,
                                                   struct jvm_class *receiver, struct arena *arena)
{
  jvmtiEnv *jvmti = thread->jvmti;
  const struct finding finding = {thread, arena, field->owner};
  const struct bindings none = {.count = 0};
  char *generic = NULL;
  if ((*jvmti)->GetFieldName(jvmti, field->owner->ref, field->id, NULL, NULL, &generic) != JVMTI_ERROR_NONE ||
      generic == NULL)
    return NULL;
  struct text signature = jvm_text_of_modified(thread, generic, arena);
  (*jvmti)->Deallocate(jvmti, (unsigned char *)generic);
  bool is_static = (field->modifiers & ACC_STATIC) != 0;
  return signature.data == NULL ? NULL
                                : read_declared(&finding, is_static ? NULL : receiver, &none, signature);
}

/* False: memory is short. */
static bool copy_type(const struct jvm_type *type, struct arena *arena, struct jvm_type *copy)
{
  if (type->kind == 0)
    return true;
  *copy =
      (struct jvm_type){.kind = type->kind, .name = arena_text(arena, type->name), .context = type->context};
  return copy->name.data != NULL;
}

bool declared_function_copy(const struct declared_function *function, struct arena *arena,
                            struct declared_function *copy)
{
  *copy = *function;
  if (function->interface == NULL)
    return true;
  copy->signature = arena_text(arena, function->signature);
  copy->identity = arena_text(arena, function->identity);
  return copy->signature.data != NULL && copy->identity.data != NULL;
}

static void load_type(struct jvm_thread *thread, const struct jvm_type *type)
{
  if (type->kind != 0)
    (void)jvm_type_class(thread, (struct jvm_type *)type);
}

void element_types_load(struct jvm_thread *thread, const struct element_types *types)
{
  for (; types != NULL; types = types->inside) {
    load_type(thread, &types->self);
    load_type(thread, &types->key);
    load_type(thread, &types->element);
  }
}

const struct element_types *element_types_copy(const struct element_types *types, struct arena *arena)
{
  struct element_types *made = arena_calloc(arena, 1, sizeof *made);
  if (made == NULL || !copy_type(&types->self, arena, &made->self) ||
      !copy_type(&types->key, arena, &made->key) || !copy_type(&types->element, arena, &made->element) ||
      !declared_function_copy(&types->function, arena, &made->function))
    return NULL;
  if (types->inside != NULL)
    made->inside = element_types_copy(types->inside, arena);
  return types->inside == NULL || made->inside != NULL ? made : NULL;
}
