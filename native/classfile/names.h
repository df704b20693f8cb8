#ifndef JPEER_CLASSFILE_NAMES_H
#define JPEER_CLASSFILE_NAMES_H
/*
 * The names of all classes in a form that is searched in a fraction of a millisecond for those that are like another one.
 * One thread while names are added, then any number. Only for the catalog.
 */
#include "classfile/catalog.h"

struct class_names;

/* NULL: no memory. Caller frees with class_names_destroy. */
struct class_names *class_names_create(void);
/* Adds a holder, which ends with class_names_destroy, and returns the names. */
struct class_names *class_names_retain(struct class_names *names);
void class_names_destroy(struct class_names *names); /* NULL is fine */

/* Adds a name, which is copied. A catalog_visitor. */
void class_names_add(void *names, struct text name);
/* False: a name could not be added, because memory is short. */
bool class_names_are_complete(const struct class_names *names);

/* Gives the names that are like this one, in the order in which they were added. Names that have a little more than its
 * edits may come with them. */
void class_names_each_like(const struct class_names *names, const struct catalog_likeness *like,
                           catalog_visitor *visit, void *context);

#endif
