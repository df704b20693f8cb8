#include "jni/types/selection.h"

#include "jni/runtime/throwables.h"

enum { ACC_ABSTRACT = 0x0400 };

/* A list of pointers in the arena. */
struct list {
  void **items;
  size_t count;
  size_t capacity;
};

struct selection {
  struct jvm_thread *thread;
  struct arena *arena;
  struct jvm_method *method;
  struct list classes;         /* the runtime class and its superclasses, nearest first */
  struct list interfaces;      /* all interfaces of these classes */
  struct jvm_method *selected; /* NULL: the call fails, and no method runs */
  struct list holders;         /* struct jvm_method, of different owners */
};

static bool append_item(struct selection *selection, struct list *list, void *item)
{
  void **items = arena_grow(selection->arena, list->items, list->count, &list->capacity, sizeof *items);
  if (items == NULL)
    return false;
  list->items = items;
  items[list->count++] = item;
  return true;
}

static bool is_listed(const struct list *list, const void *item)
{
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i] == item)
      return true;
  return false;
}

/* ---- the lineage of the object's class ---- */

/* Adds the interfaces of the listed classes, and their superinterfaces. There is no recursion: the loop also
 * visits the interfaces that it appends to the list. */
static bool add_interfaces(struct selection *selection, const struct member_table *members)
{
  for (size_t i = 0; i < members->interface_count; i++)
    if (!is_listed(&selection->interfaces, members->interfaces[i]) &&
        !append_item(selection, &selection->interfaces, members->interfaces[i]))
      return false;
  return true;
}

static bool walk_lineage(struct selection *selection, struct jvm_class *runtime)
{
  for (struct jvm_class *class = runtime; class != NULL;) {
    const struct member_table *members = member_table_of(selection->thread, class);
    if (members == NULL || !append_item(selection, &selection->classes, class) ||
        !add_interfaces(selection, members))
      return false;
    class = members->super;
  }
  for (size_t i = 0; i < selection->interfaces.count; i++) {
    const struct member_table *members = member_table_of(selection->thread, selection->interfaces.items[i]);
    if (members == NULL || !add_interfaces(selection, members))
      return false;
  }
  return true;
}

static size_t count_lineage(const struct selection *selection)
{
  return selection->classes.count + selection->interfaces.count;
}

static struct jvm_class *find_class(const struct selection *selection, size_t at)
{
  return at < selection->classes.count ? selection->classes.items[at]
                                       : selection->interfaces.items[at - selection->classes.count];
}

/* The table of a class in the lineage; exists since walk_lineage. */
static const struct member_table *find_table(const struct selection *selection, size_t at)
{
  return atomic_load_explicit(&find_class(selection, at)->members, memory_order_acquire);
}

/* ---- overriding ---- */

static bool is_inheritable(const struct jvm_method *method)
{
  return (method->modifiers & (OP_ACC_PRIVATE | OP_ACC_STATIC)) == 0;
}

static struct jvm_method *find_method_in(struct jvm_method *methods, size_t count,
                                         const struct jvm_method *like)
{
  for (size_t i = 0; i < count; i++)
    if (text_equal(methods[i].name, like->name) && is_inheritable(&methods[i]) &&
        strcmp(methods[i].raw_descriptor, like->raw_descriptor) == 0)
      return &methods[i];
  return NULL;
}

/* The method of the same name and descriptor that a class of the lineage declares; NULL: none. */
static struct jvm_method *find_same(const struct member_table *members, const struct jvm_method *like)
{
  struct jvm_method *found = find_method_in(members->methods, members->method_count, like);
  return found != NULL ? found : find_method_in(members->hidden, members->hidden_count, like);
}

static struct text read_package(const struct jvm_class *class)
{
  size_t dot = text_find_last(class->name, '.');
  return text_slice(class->name, 0, dot == SIZE_MAX ? 0 : dot);
}

static bool has_same_loader(struct jvm_thread *thread, const struct jvm_class *a, const struct jvm_class *b)
{
  jobject first = NULL;
  jobject second = NULL;
  bool same = (*thread->jvmti)->GetClassLoader(thread->jvmti, a->ref, &first) == JVMTI_ERROR_NONE &&
              (*thread->jvmti)->GetClassLoader(thread->jvmti, b->ref, &second) == JVMTI_ERROR_NONE &&
              (*thread->env)->IsSameObject(thread->env, first, second);
  (*thread->env)->DeleteLocalRef(thread->env, first);
  (*thread->env)->DeleteLocalRef(thread->env, second);
  return same;
}

/* JVMS 5.4.5, for one pair of methods: a package-private method is overridden only within its package. */
static bool is_overriding(const struct selection *selection, const struct jvm_method *nearer,
                          const struct jvm_method *method)
{
  if (nearer == method || (method->modifiers & (OP_ACC_PUBLIC | OP_ACC_PROTECTED)) != 0)
    return true;
  return text_equal(read_package(nearer->owner), read_package(method->owner)) &&
         has_same_loader(selection->thread, nearer->owner, method->owner);
}

/* `found` has the methods of one name and descriptor along the classes, the called method last. Keeps the
 * methods that override it, directly or through another method. */
static void keep_overriding(struct selection *selection, struct list *found)
{
  size_t last = found->count - 1;
  for (size_t i = last; i-- > 0;) {
    bool kept = false;
    for (size_t above = i + 1; !kept && above <= last; above++)
      kept = found->items[above] != NULL && is_overriding(selection, found->items[i], found->items[above]);
    if (!kept)
      found->items[i] = NULL;
  }
}

static bool add_holder(struct selection *selection, struct jvm_method *method)
{
  if (method->owner == selection->method->owner)
    return true;
  for (size_t i = 0; i < selection->holders.count; i++)
    if (((struct jvm_method *)selection->holders.items[i])->owner == method->owner)
      return true;
  return append_item(selection, &selection->holders, method);
}

/* ---- selection ---- */

/* The methods of subclasses override a class's method. */
static bool select_of_class(struct selection *selection)
{
  struct list found = {0};
  for (size_t i = 0; i < selection->classes.count; i++) {
    if (selection->classes.items[i] == selection->method->owner)
      break;
    struct jvm_method *same = find_same(find_table(selection, i), selection->method);
    if (same != NULL && !append_item(selection, &found, same))
      return false;
  }
  if (!append_item(selection, &found, selection->method))
    return false;
  keep_overriding(selection, &found);
  for (size_t i = found.count; i-- > 0;) {
    if (found.items[i] == NULL)
      continue;
    selection->selected = found.items[i];
    if (!add_holder(selection, found.items[i]))
      return false;
  }
  return true;
}

/* True if another of the methods belongs to a subinterface of this method's owner. */
static bool is_outdone(const struct selection *selection, const struct list *methods,
                       const struct jvm_method *method)
{
  for (size_t i = 0; i < methods->count; i++) {
    const struct jvm_method *other = methods->items[i];
    if (other != method && jvm_class_is_assignable(selection->thread, other->owner, method->owner))
      return true;
  }
  return false;
}

/* JVMS 5.4.6, 2c: the only default method among the methods that no other interface overrides. */
static bool select_default(struct selection *selection)
{
  struct list found = {0};
  for (size_t i = selection->classes.count; i < count_lineage(selection); i++) {
    struct jvm_method *same = find_same(find_table(selection, i), selection->method);
    if (same != NULL && !append_item(selection, &found, same))
      return false;
  }
  size_t defaults = 0;
  for (size_t i = 0; i < found.count; i++) {
    struct jvm_method *method = found.items[i];
    if ((method->modifiers & ACC_ABSTRACT) != 0 || is_outdone(selection, &found, method))
      continue;
    selection->selected = method;
    defaults++;
  }
  if (defaults != 1)
    selection->selected = NULL;
  return true;
}

static bool select_of_interface(struct selection *selection)
{
  for (size_t i = 0; selection->selected == NULL && i < selection->classes.count; i++)
    selection->selected = find_same(find_table(selection, i), selection->method);
  if (selection->selected == NULL && !select_default(selection))
    return false;
  return selection->selected == NULL || add_holder(selection, selection->selected);
}

/* Adds the classes and interfaces below the owner that redeclare the member. For an owner that is a class,
 * select_of_class has added the classes. */
static bool add_between(struct selection *selection)
{
  struct jvm_thread *thread = selection->thread;
  size_t first = selection->method->owner->is_interface ? 0 : selection->classes.count;
  for (size_t i = first; i < count_lineage(selection); i++) {
    struct jvm_method *same = find_same(find_table(selection, i), selection->method);
    if (same != NULL && jvm_class_is_assignable(thread, same->owner, selection->method->owner) &&
        !add_holder(selection, same))
      return false;
  }
  return true;
}

/* ---- bridges ---- */

/* True if a value of the first type may be passed on, after a cast, as a value of the second type. */
static bool could_become(struct jvm_thread *thread, struct jvm_type *from, struct jvm_type *to)
{
  if (from->kind != 'L' || to->kind != 'L' || text_equal(from->name, to->name))
    return from->kind == to->kind;
  struct jvm_class *wide = jvm_type_class(thread, from);
  struct jvm_class *narrow = jvm_type_class(thread, to);
  return wide == NULL || narrow == NULL || jvm_class_is_assignable(thread, narrow, wide);
}

static bool is_target(struct jvm_thread *thread, struct jvm_method *bridge, struct jvm_method *method)
{
  if (!text_equal(method->name, bridge->name) || method->param_count != bridge->param_count ||
      !is_inheritable(method) || (method->modifiers & ACC_ABSTRACT) != 0)
    return false;
  for (size_t i = 0; i < bridge->param_count; i++)
    if (!could_become(thread, &bridge->params[i], &method->params[i]))
      return false;
  return could_become(thread, &bridge->result, &method->result);
}

static bool is_descriptor_known(const struct list *methods, const struct jvm_method *method)
{
  for (size_t i = 0; i < methods->count; i++)
    if (strcmp(((struct jvm_method *)methods->items[i])->raw_descriptor, method->raw_descriptor) == 0)
      return true;
  return false;
}

/*
 * A bridge calls another method, possibly a superclass's. Its code cannot be read without a capability of
 * JVMTI that the peer does not request. For this reason every method that it could call is judged: an
 * unnecessary denial is better than a missing denial.
 */
static bool add_targets(struct selection *selection, struct jvm_method *bridge)
{
  struct list targets = {0};
  for (size_t i = 0; i < count_lineage(selection); i++) {
    const struct member_table *members = find_table(selection, i);
    for (size_t j = 0; j < members->method_count; j++) {
      struct jvm_method *method = &members->methods[j];
      if (is_target(selection->thread, bridge, method) && !is_descriptor_known(&targets, method) &&
          (!append_item(selection, &targets, method) || !add_holder(selection, method)))
        return false;
    }
  }
  return true;
}

static bool is_hidden(const struct jvm_method *method)
{
  const struct member_table *members = atomic_load_explicit(&method->owner->members, memory_order_acquire);
  return method >= members->hidden && method < members->hidden + members->hidden_count;
}

/* ---- selection, complete ---- */

static bool copy_holders(struct selection *selection, struct judged_holder **holders, size_t *count)
{
  *count = selection->holders.count;
  *holders = arena_calloc(selection->arena, *count, sizeof **holders);
  if (*holders == NULL)
    return false;
  for (size_t i = 0; i < *count; i++) {
    const struct jvm_method *method = selection->holders.items[i];
    (*holders)[i] = (struct judged_holder){method->owner->element_name, method->modifiers};
  }
  return true;
}

static bool is_never_overridden(const struct jvm_method *method, const struct jvm_class *runtime)
{
  return runtime == method->owner || (method->modifiers & (OP_ACC_PRIVATE | OP_ACC_FINAL)) != 0;
}

/* Call it after walk_lineage. */
static bool select_method(struct selection *selection)
{
  bool found =
      selection->method->owner->is_interface ? select_of_interface(selection) : select_of_class(selection);
  if (found && selection->selected != NULL && is_hidden(selection->selected))
    found = add_targets(selection, selection->selected);
  return found && add_between(selection);
}

bool selection_find(struct jvm_thread *thread, struct arena *arena, struct jvm_method *method,
                    struct jvm_class *runtime, struct judged_holder **holders, size_t *count)
{
  *holders = NULL;
  *count = 0;
  if (is_never_overridden(method, runtime))
    return true;
  struct selection selection = {.thread = thread, .arena = arena, .method = method};
  return walk_lineage(&selection, runtime) && select_method(&selection) &&
         copy_holders(&selection, holders, count);
}

/* ---- supertypes that also declare the method ---- */

/* Selects for another method, in the same lineage as for the first method. */
static bool select_again(const struct selection *walked, struct jvm_method *method, struct jvm_class *runtime,
                         struct selection *again)
{
  *again = (struct selection){.thread = walked->thread,
                              .arena = walked->arena,
                              .method = method,
                              .classes = walked->classes,
                              .interfaces = walked->interfaces};
  if (!is_never_overridden(method, runtime))
    return select_method(again);
  again->selected = method;
  return true;
}

/* Compares name and parameters, "add(Ljava/lang/Object;)", on which a caller's choice depends. */
static bool has_same_signature(const struct jvm_method *a, const struct jvm_method *b)
{
  const char *end = strrchr(a->raw_descriptor, ')');
  size_t length = end == NULL ? 0 : (size_t)(end - a->raw_descriptor) + 1;
  return text_equal(a->name, b->name) && strncmp(a->raw_descriptor, b->raw_descriptor, length) == 0;
}

static bool could_be_code(const struct jvm_method *method, const struct jvm_method *bridge)
{
  return has_same_signature(method, bridge) && is_inheritable(method) &&
         (method->modifiers & ACC_ABSTRACT) == 0;
}

/* Returns the descriptor of the method whose code runs. For a bridge this is the bridge's target. A compiler
 * makes a bridge for the method with these parameters in the same class, or else for the inherited method.
 * NULL: several methods could be the target. Class files from a Java compiler never have several. */
static const char *find_code(const struct selection *selection)
{
  const struct jvm_method *selected = selection->selected;
  if (!is_hidden(selected))
    return selected->raw_descriptor;
  const char *own = NULL;
  const char *inherited = NULL;
  bool is_ambiguous = false;
  for (size_t i = 0; i < count_lineage(selection); i++) {
    const struct member_table *members = find_table(selection, i);
    const char **descriptor = find_class(selection, i) == selected->owner ? &own : &inherited;
    for (size_t j = 0; j < members->method_count; j++) {
      const char *found = members->methods[j].raw_descriptor;
      if (!could_be_code(&members->methods[j], selected))
        continue;
      if (*descriptor != NULL && strcmp(*descriptor, found) != 0) {
        if (descriptor == &own)
          return NULL;
        is_ambiguous = true;
      }
      *descriptor = found;
    }
  }
  if (own != NULL)
    return own;
  return is_ambiguous ? NULL : inherited;
}

/* Methods of the same name, parameters and result are overridden by the same method of the object's class. */
static bool runs_same_code(const struct selection *one, const struct selection *other)
{
  if (one->selected == NULL || other->selected == NULL)
    return false;
  if (one->selected == other->selected)
    return true;
  if (!is_hidden(one->selected) && !is_hidden(other->selected))
    return false;
  const char *codes[] = {find_code(one), find_code(other)};
  return codes[0] != NULL && codes[1] != NULL && strcmp(codes[0], codes[1]) == 0;
}

static struct jvm_method *find_public(struct jvm_class *class, const struct jvm_method *like)
{
  const struct member_table *members = atomic_load_explicit(&class->members, memory_order_acquire);
  for (size_t i = 0; i < members->method_count; i++) {
    struct jvm_method *method = &members->methods[i];
    if ((method->modifiers & OP_ACC_PUBLIC) != 0 && is_inheritable(method) &&
        has_same_signature(method, like))
      return method;
  }
  return NULL;
}

static struct judged_member make_member(const struct judged_member *member, const struct jvm_class *class,
                                        const struct jvm_method *method)
{
  return (struct judged_member){.kind = OP_MEMBER_METHOD,
                                .modifiers = method->modifiers,
                                .named_class = class->element_name,
                                .declaring_class = method->owner->element_name,
                                .runtime_class = TEXT_ABSENT,
                                .member = member->member};
}

/* A question to the judge about a supertype, or about a class between the object's class and the named
 * class. */
struct supertype_search {
  const struct judged_member *member;
  const struct jvm_lineage *lineage;
  const struct judge *judge;
  struct selection walked; /* its method is the member's */
};

static bool is_spared(const struct supertype_search *search)
{
  const struct jvm_lineage *lineage = search->lineage;
  for (size_t i = 0; i < count_lineage(&search->walked); i++) {
    const struct jvm_class *class = find_class(&search->walked, i);
    if (class != lineage->runtime && class != lineage->named &&
        !jvm_class_is_assignable(lineage->thread, class, lineage->named))
      continue;
    const struct judged_member on = make_member(search->member, class, lineage->method);
    if (!judge_spares(search->judge, &on))
      return false;
  }
  return true;
}

/* If memory is short, the answer is false, a denial. */
static bool is_allowed_by(const struct supertype_search *search, struct jvm_class *class,
                          struct judged_member *found)
{
  const struct jvm_lineage *lineage = search->lineage;
  struct jvm_method *method = find_public(class, lineage->method);
  if (method == NULL)
    return false;
  *found = make_member(search->member, class, method);
  if (!judge_enforces(search->judge, OP_CALL, found))
    return false;
  struct selection own;
  struct selection selected;
  struct judged_holder *holders;
  if (!select_again(&search->walked, lineage->method, lineage->runtime, &own) ||
      !select_again(&search->walked, method, lineage->runtime, &selected) ||
      !runs_same_code(&own, &selected) || !copy_holders(&selected, &holders, &found->holder_count))
    return false;
  found->holders = holders;
  found->runtime_class = lineage->runtime->element_name;
  return judge_enforces(search->judge, OP_CALL, found);
}

/* False: the member is not a public instance method, the object is not of the named class, or the classes of
 * the object cannot be listed. */
static bool begin_search(const struct jvm_lineage *lineage, const struct judge *judge,
                         const struct judged_member *member, struct supertype_search *search)
{
  if (member->kind != OP_MEMBER_METHOD || (member->modifiers & OP_ACC_PUBLIC) == 0 ||
      !jvm_class_is_assignable(lineage->thread, lineage->runtime, lineage->named))
    return false;
  *search = (struct supertype_search){
      .member = member,
      .lineage = lineage,
      .judge = judge,
      .walked = {.thread = lineage->thread, .arena = lineage->arena, .method = lineage->method}};
  if (walk_lineage(&search->walked, lineage->runtime))
    return true;
  (void)throwable_take(lineage->thread, NULL);
  return false;
}

bool selection_is_idempotent(const struct jvm_lineage *lineage, const struct judge *judge,
                             const struct judged_member *member)
{
  struct supertype_search search;
  struct selection own;
  if (!begin_search(lineage, judge, member, &search) ||
      !select_again(&search.walked, lineage->method, lineage->runtime, &own))
    return false;
  for (size_t i = 0; i < count_lineage(&search.walked); i++) {
    struct jvm_class *class = find_class(&search.walked, i);
    struct jvm_method *method = find_public(class, lineage->method);
    struct selection selected;
    if (method != NULL && judge_is_idempotent(judge, class->element_name, member->member) &&
        select_again(&search.walked, method, lineage->runtime, &selected) && runs_same_code(&own, &selected))
      return true;
  }
  return false;
}

bool selection_find_supertype(const struct jvm_lineage *lineage, const struct judge *judge,
                              const struct judged_member *member, struct judged_member *found)
{
  struct supertype_search search;
  if (!begin_search(lineage, judge, member, &search) || !is_spared(&search))
    return false;
  for (size_t i = 0; i < count_lineage(&search.walked); i++)
    if (is_allowed_by(&search, find_class(&search.walked, i), found))
      return true;
  return false;
}
