#ifndef JPEER_CLASSFILE_CLASS_ATTRIBUTES_H
#define JPEER_CLASSFILE_CLASS_ATTRIBUTES_H
/* Reads the attributes of a class file (JVMS 4.7) that the catalog needs, and skips the others. Only for
 * class_file.c. */
#include "classfile/class_file.h"
#include "classfile/constant_pool.h"
#include "classfile/cursor.h"

struct class_reader {
  const uint8_t *bytes; /* of the whole file */
  struct cursor cursor;
  struct constant_pool pool;
  struct arena *arena;
  /* By constant of the descriptor: one more than its number of parameters; 0: not checked yet. */
  uint16_t *checked_descriptors;
  size_t *names_left; /* how many more parameter names may be kept; shared by the readers of one file */
  struct jp_error *error;
};

/* JP_INVALID where the cursor has failed, or fewer than `needed` bytes are left; the text names `what`. */
enum jp_status class_reader_check(const struct class_reader *reader, const char *what,
                                  size_t needed) JP_MUST_CHECK;

/* Each reads attributes_count and that many attributes into its target. */
enum jp_status class_attributes_read_field(struct class_reader *reader,
                                           struct class_member *field) JP_MUST_CHECK;
enum jp_status class_attributes_read_method(struct class_reader *reader,
                                            struct class_member *method) JP_MUST_CHECK;
enum jp_status class_attributes_read_class(struct class_reader *reader,
                                           struct class_file *file) JP_MUST_CHECK;

#endif
