#ifndef JPEER_TESTS_COLFER_FRAMES_H
#define JPEER_TESTS_COLFER_FRAMES_H
/*
 * What goes between the Java client's interop test and a codec in C (interop/CodecProgram.java is the other side).
 *
 * A sample is a byte count and the name of its struct, then a count of four bytes, big endian, and the struct. A
 * verdict is the byte 1 and the struct written again, or the byte 0 and the complaint, with such a count, too.
 *
 * One thread. An end of file in the middle of a frame, or too little memory, ends the program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sample {
  char name[256]; /* as the schema has it: "ClassMethodCall" */
  /* Exactly size bytes of the heap, so that reading beyond them is found; the caller frees them. */
  uint8_t *bytes;
  size_t size;
};

/* False at the end of the file. */
bool frames_read_sample(FILE *file, struct sample *sample);
void frames_write_verdict(FILE *file, bool accepted, const void *bytes, size_t size);

#endif
