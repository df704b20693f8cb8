#include "rpc/meta/meta_shapes.h"

#include "classfile/builder.h"

enum {
  MATCHED_METHODS_MAX = 4096 /* of a class; the names of parameters of further methods are arg0, arg1, ... */
};

struct making {
  const struct catalog_tables *known; /* NULL: none */
  struct builder *builder;
  struct arena arena; /* of the class that is added */
};

/* ---- the names of parameters ---- */

static const struct catalog_method *find_known(const struct catalog_tables *known,
                                               const struct catalog_class *class,
                                               const struct op_shape_member *method)
{
  for (uint32_t i = class->first_method; i < class->first_method + class->method_count; i++) {
    if (text_equal(catalog_text(known, known->methods[i].name), method->name) &&
        text_equal(catalog_text(known, known->methods[i].descriptor), method->descriptor))
      return &known->methods[i];
  }
  return NULL;
}

static enum jp_status name_parameters(struct making *making, const struct catalog_class *class,
                                      const struct op_shape_member *method, struct class_member *member)
{
  const struct catalog_tables *known = making->known;
  const struct catalog_method *named = find_known(known, class, method);
  if (named == NULL || named->first_parameter == CATALOG_NONE ||
      named->parameter_count != method->parameter_count)
    return JP_OK;
  member->parameters = arena_calloc(&making->arena, method->parameter_count, sizeof *member->parameters);
  if (member->parameters == NULL)
    return JP_NO_MEMORY;
  for (unsigned i = 0; i < method->parameter_count; i++) {
    const struct catalog_parameter *parameter = &known->parameters[named->first_parameter + i];
    member->parameters[i] = (struct class_parameter){catalog_text(known, parameter->name), parameter->access};
  }
  return JP_OK;
}

/* Finds the class in the catalog; NULL: the catalog has no class of this name, or a different class. */
static const struct catalog_class *find_known_class(const struct making *making, const struct op_shape *shape)
{
  if (making->known == NULL || !shape->is_permanent || shape->method_count > MATCHED_METHODS_MAX)
    return NULL;
  uint32_t found = catalog_find(making->known, shape->name);
  return found == CATALOG_NONE ? NULL : &making->known->classes[found];
}

/* ---- the small catalog ---- */

static struct class_member *make_members(struct making *making, const struct op_shape_member *given,
                                         size_t count)
{
  struct class_member *members = arena_calloc(&making->arena, count, sizeof *members);
  for (size_t i = 0; members != NULL && i < count; i++)
    members[i] = (struct class_member){.name = given[i].name,
                                       .descriptor = given[i].descriptor,
                                       .signature = given[i].signature,
                                       .access = given[i].access,
                                       .parameter_count = given[i].parameter_count,
                                       .is_open = given[i].is_open};
  return members;
}

static enum jp_status add_shape(struct making *making, const struct op_shape *shape, struct jp_error *error)
{
  arena_reset(&making->arena);
  struct class_file file = {.access = shape->access,
                            .name = shape->name,
                            .superclass = shape->superclass,
                            .interfaces = shape->interfaces,
                            .interface_count = shape->interface_count,
                            .fields = make_members(making, shape->fields, shape->field_count),
                            .field_count = shape->field_count,
                            .methods = make_members(making, shape->methods, shape->method_count),
                            .method_count = shape->method_count};
  const struct catalog_class *known = find_known_class(making, shape);
  enum jp_status status = file.fields == NULL || file.methods == NULL ? JP_NO_MEMORY : JP_OK;
  for (size_t i = 0; status == JP_OK && known != NULL && i < file.method_count; i++) {
    if (file.methods[i].parameter_count > 0)
      status = name_parameters(making, known, &shape->methods[i], &file.methods[i]);
  }
  return status == JP_OK ? builder_add_parsed(making->builder, &file, CATALOG_CLASS_PATH, error) : status;
}

enum jp_status meta_shapes_make(struct meta_shapes *shapes, const struct op_description *look,
                                const struct catalog_tables *known)
{
  *shapes = (struct meta_shapes){.builder = builder_create()};
  if (shapes->builder == NULL)
    return JP_NO_MEMORY;
  struct making making = {.known = known, .builder = shapes->builder};
  arena_init(&making.arena);
  struct jp_error error;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < look->shape_count; i++)
    status = add_shape(&making, &look->shapes[i], &error);
  if (status == JP_OK)
    status = builder_finish(making.builder, &shapes->tables, &error);
  arena_fini(&making.arena);
  return status;
}

void meta_shapes_fini(struct meta_shapes *shapes)
{
  builder_destroy(shapes->builder);
  shapes->builder = NULL;
}

struct catalog_excerpt *meta_shapes_open_known(struct catalog *catalog, const struct op_description *look)
{
  enum { SHAPES_MAX = 256 };
  struct text names[SHAPES_MAX];
  const char *elements[SHAPES_MAX];
  size_t count = 0;
  struct catalog_excerpt *excerpt;
  struct jp_error error;
  for (size_t i = 0; i < look->shape_count && count < SHAPES_MAX; i++) {
    if (!look->shapes[i].is_permanent)
      continue;
    names[count] = look->shapes[i].name;
    elements[count++] = look->shapes[i].element;
  }
  return catalog != NULL && count > 0 &&
                 catalog_excerpt_open_from(catalog, names, elements, count, CATALOG_NESTED, &excerpt,
                                           &error) == JP_OK
             ? excerpt
             : NULL;
}
