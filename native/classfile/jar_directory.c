#include "classfile/jar_directory.h"

#include "base/array.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sizes, signatures and offsets of fields: APPNOTE.TXT, 4.3.7, 4.3.12 and 4.3.16. */
enum {
  LOCAL_SIZE = 30,
  LOCAL_SIGNATURE = 0x04034b50,
  LOCAL_NAME_SIZE = 26,
  LOCAL_EXTRA_SIZE = 28,
  ITEM_SIZE = 46,
  ITEM_SIGNATURE = 0x02014b50,
  ITEM_FLAGS = 8,
  ITEM_METHOD = 10,
  ITEM_CRC = 16,
  ITEM_PACKED_SIZE = 20,
  ITEM_UNPACKED_SIZE = 24,
  ITEM_NAME_SIZE = 28,
  ITEM_EXTRA_SIZE = 30,
  ITEM_COMMENT_SIZE = 32,
  ITEM_DISK = 34,
  ITEM_OFFSET = 42,
  END_SIZE = 22,
  END_SIGNATURE = 0x06054b50,
  END_DISK = 4,
  END_DIRECTORY_DISK = 6,
  END_COUNT = 10,
  END_DIRECTORY_SIZE = 12,
  END_DIRECTORY_OFFSET = 16,
  FLAG_ENCRYPTED = 1,
  METHOD_STORED = 0,
  METHOD_DEFLATED = 8,
  PACKED_EXCESS_MAX = 64 * 1024, /* a deflated entry may be larger than its unpacked size by this number of
                                  * bytes */
  DIRECTORY_BYTES_MAX = 64 * 1024 * 1024
};
#define IN_64_BITS UINT32_MAX /* a field with this value means that the real value is in a 64-bit field */

struct jar_directory {
  int fd;
  uint8_t *bytes;
  struct array items; /* struct jar_item */
  struct buffer packed;
  struct libdeflate_decompressor *decompressor; /* NULL: not needed yet */
};

static uint16_t read_16(const uint8_t *at)
{
  return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t read_32(const uint8_t *at)
{
  return read_16(at) | (uint32_t)read_16(at + 2) << 16;
}

static bool read_file(int fd, void *bytes, size_t size, uint64_t offset)
{
  size_t done = 0;
  while (done < size) {
    ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
    if (got <= 0)
      return false;
    done += (size_t)got;
  }
  return true;
}

/* Reads the bytes of the directory. The directory must end where its end record begins, and the end record
 * must be at the end of the file. */
static enum jp_status read_bytes(struct jar_directory *directory, uint32_t *size, uint16_t *count)
{
  struct stat facts;
  uint8_t end[END_SIZE];
  if (fstat(directory->fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < END_SIZE ||
      facts.st_size > INT32_MAX ||
      !read_file(directory->fd, end, sizeof end, (uint64_t)facts.st_size - END_SIZE))
    return JP_INVALID;
  *size = read_32(end + END_DIRECTORY_SIZE);
  *count = read_16(end + END_COUNT);
  uint64_t offset = read_32(end + END_DIRECTORY_OFFSET);
  if (read_32(end) != END_SIGNATURE || read_16(end + END_DISK) != 0 ||
      read_16(end + END_DIRECTORY_DISK) != 0 || *count == UINT16_MAX || *size > DIRECTORY_BYTES_MAX ||
      offset + *size != (uint64_t)facts.st_size - END_SIZE)
    return JP_INVALID;
  directory->bytes = malloc(*size == 0 ? 1 : *size);
  if (directory->bytes == NULL)
    return JP_NO_MEMORY;
  return read_file(directory->fd, directory->bytes, *size, offset) ? JP_OK : JP_INVALID;
}

/* The length of the item at `at`; 0: the item has a form that is not supported. */
static size_t read_item(const uint8_t *at, size_t left, struct jar_item *item)
{
  if (left < ITEM_SIZE || read_32(at) != ITEM_SIGNATURE)
    return 0;
  size_t name_size = read_16(at + ITEM_NAME_SIZE);
  size_t size = ITEM_SIZE + name_size + read_16(at + ITEM_EXTRA_SIZE) + read_16(at + ITEM_COMMENT_SIZE);
  uint16_t method = read_16(at + ITEM_METHOD);
  *item = (struct jar_item){.name = {(const char *)at + ITEM_SIZE, name_size},
                            .packed_size = read_32(at + ITEM_PACKED_SIZE),
                            .size = read_32(at + ITEM_UNPACKED_SIZE),
                            .crc = read_32(at + ITEM_CRC),
                            .offset = read_32(at + ITEM_OFFSET),
                            .is_deflated = method == METHOD_DEFLATED};
  bool is_plain = (read_16(at + ITEM_FLAGS) & FLAG_ENCRYPTED) == 0 && read_16(at + ITEM_DISK) == 0 &&
                  (method == METHOD_STORED || method == METHOD_DEFLATED) && item->size != IN_64_BITS &&
                  item->packed_size != IN_64_BITS && item->offset != IN_64_BITS;
  return is_plain && size <= left && memchr(item->name.data, '\0', name_size) == NULL ? size : 0;
}

static enum jp_status read_items(struct jar_directory *directory)
{
  uint32_t size;
  uint16_t count;
  enum jp_status status = read_bytes(directory, &size, &count);
  if (status != JP_OK)
    return status;
  struct jar_item *items = array_add(&directory->items, count);
  if (items == NULL && count > 0)
    return JP_NO_MEMORY;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    size_t item_size = read_item(directory->bytes + at, size - at, &items[i]);
    if (item_size == 0)
      return JP_INVALID;
    at += item_size;
  }
  return at == size ? JP_OK : JP_INVALID;
}

enum jp_status jar_directory_open(const char *path, struct jar_directory **directory)
{
  struct jar_directory *opened = calloc(1, sizeof *opened);
  *directory = NULL;
  if (opened == NULL)
    return JP_NO_MEMORY;
  array_init(&opened->items, sizeof(struct jar_item));
  opened->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  enum jp_status status = opened->fd < 0 ? JP_INVALID : read_items(opened);
  if (status == JP_OK)
    *directory = opened;
  else
    jar_directory_close(opened);
  return status;
}

void jar_directory_close(struct jar_directory *directory)
{
  if (directory == NULL)
    return;
  if (directory->fd >= 0)
    close(directory->fd);
  free(directory->bytes);
  array_fini(&directory->items);
  buffer_fini(&directory->packed);
  libdeflate_free_decompressor(directory->decompressor);
  free(directory);
}

size_t jar_directory_count(const struct jar_directory *directory)
{
  return directory->items.count;
}

const struct jar_item *jar_directory_item(const struct jar_directory *directory, size_t index)
{
  return &((const struct jar_item *)directory->items.items)[index];
}

/* The offset of the item's content; 0: its local header cannot be read. */
static uint64_t find_content(const struct jar_directory *directory, const struct jar_item *item)
{
  uint8_t header[LOCAL_SIZE];
  if (!read_file(directory->fd, header, sizeof header, item->offset) || read_32(header) != LOCAL_SIGNATURE)
    return 0;
  return (uint64_t)item->offset + LOCAL_SIZE + read_16(header + LOCAL_NAME_SIZE) +
         read_16(header + LOCAL_EXTRA_SIZE);
}

/* Unpacks the packed bytes. */
static bool inflate_item(const struct jar_directory *directory, const struct jar_item *item, char *bytes)
{
  return libdeflate_deflate_decompress(directory->decompressor, directory->packed.data, item->packed_size,
                                       bytes, item->size, NULL) == LIBDEFLATE_SUCCESS;
}

enum jp_status jar_directory_read(struct jar_directory *directory, const struct jar_item *item,
                                  struct buffer *bytes)
{
  bool is_bounded = item->is_deflated ? item->packed_size <= (uint64_t)item->size + PACKED_EXCESS_MAX
                                      : item->packed_size == item->size;
  uint64_t content = is_bounded ? find_content(directory, item) : 0;
  if (content == 0)
    return JP_INVALID;
  if (item->is_deflated && directory->decompressor == NULL)
    directory->decompressor = libdeflate_alloc_decompressor();
  buffer_clear(bytes);
  buffer_clear(&directory->packed);
  char *unpacked = buffer_reserve(bytes, (size_t)item->size + 1);
  char *packed = item->is_deflated ? buffer_reserve(&directory->packed, item->packed_size) : unpacked;
  if (unpacked == NULL || packed == NULL || (item->is_deflated && directory->decompressor == NULL))
    return JP_NO_MEMORY;
  bool is_read = read_file(directory->fd, packed, item->packed_size, content) &&
                 (!item->is_deflated || inflate_item(directory, item, unpacked)) &&
                 libdeflate_crc32(0, unpacked, item->size) == item->crc;
  return is_read ? JP_OK : JP_INVALID;
}
