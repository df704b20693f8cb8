#ifndef JPEER_CLASSFILE_EXCERPT_H
#define JPEER_CLASSFILE_EXCERPT_H
/* The excerpts of a catalog (catalog.h), some of which it keeps. Used only by catalog.c. */
#include "classfile/catalog.h"
#include "classfile/class_source.h"

struct excerpts;

/* The configuration is borrowed. NULL: no memory. Caller frees with excerpts_destroy. */
struct excerpts *excerpts_create(const struct catalog_config *config);
void excerpts_destroy(struct excerpts *excerpts); /* NULL is fine */
/* Frees the kept excerpts. Excerpts that are still held remain valid. */
void excerpts_forget(struct excerpts *excerpts);

/* Finds or reads an excerpt (catalog_excerpt_open_from). JP_LIMIT: only the whole catalog has the classes, or
 * reading the whole catalog is faster. JP_NO_MEMORY, JP_IO, JP_NOT_FOUND (the JDK's image cannot be used).
 * Any thread. */
enum jp_status excerpts_open(struct excerpts *excerpts, const struct text *names, const char *const *elements,
                             size_t count, enum catalog_extent extent, struct catalog_excerpt **excerpt,
                             struct jp_error *error) JP_MUST_CHECK;
/* Calls visit with the names of all classes. The errors are those of excerpts_open. Any thread. */
enum jp_status excerpts_each_name(struct excerpts *excerpts, catalog_visitor *visit, void *context,
                                  struct jp_error *error) JP_MUST_CHECK;

/* Makes an excerpt of these tables. The tables are borrowed and must outlive the excerpt. NULL: no memory. */
struct catalog_excerpt *excerpt_of_whole(const struct catalog_tables *tables);

#endif
