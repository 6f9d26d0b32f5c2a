/* Reads a write-ahead log frame by frame; the format is that of SQLite's
 * documentation ("WAL-mode File Format"): a header of 32 bytes, and frames of
 * a header of 24 bytes and one page each, all numbers in big-endian order. */

#include "store/wal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    HEADER_BYTES = 32,
    FRAME_BYTES = 24,
    PAGE_MIN = 512,
    PAGE_MAX = 65536,
    MAGIC = 0x377f0682, /* the lowest bit: sums of big-endian words */
};

struct sum {
    uint32_t s0;
    uint32_t s1;
};

struct wal {
    FILE *file;
    uint8_t header[HEADER_BYTES];
    uint8_t *frame; /* room for one */
    size_t page;
    struct sum sum;
    bool is_big; /* sums of big-endian words */
};

static uint32_t word_at(const uint8_t *at, bool is_big)
{
    return is_big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                        (uint32_t)at[2] << 8 | at[3]
                  : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
                        (uint32_t)at[1] << 8 | at[0];
}

static void add_to_sum(struct wal *wal, const uint8_t *at, size_t length)
{
    for (size_t i = 0; i < length; i += 8) {
        wal->sum.s0 += word_at(at + i, wal->is_big) + wal->sum.s1;
        wal->sum.s1 += word_at(at + i + 4, wal->is_big) + wal->sum.s0;
    }
}

static bool sum_is(const struct wal *wal, const uint8_t *at)
{
    return wal->sum.s0 == word_at(at, true) &&
           wal->sum.s1 == word_at(at + 4, true);
}

/* Whether SQLite reads this log at all. */
static bool header_holds(struct wal *wal)
{
    const uint32_t magic = word_at(wal->header, true);
    wal->page = word_at(wal->header + 8, true);
    wal->is_big = (magic & 1) != 0;
    add_to_sum(wal, wal->header, 24);
    return (magic & ~UINT32_C(1)) == MAGIC && wal->page >= PAGE_MIN &&
           wal->page <= PAGE_MAX && (wal->page & (wal->page - 1)) == 0 &&
           sum_is(wal, wal->header + 24);
}

static bool has_salt(const struct wal *wal)
{
    return memcmp(wal->frame + 8, wal->header + 16, 8) == 0;
}

static bool frame_holds(struct wal *wal)
{
    add_to_sum(wal, wal->frame, 8);
    add_to_sum(wal, wal->frame + FRAME_BYTES, wal->page);
    return has_salt(wal) && word_at(wal->frame, true) != 0 &&
           sum_is(wal, wal->frame + 16);
}

/* Walks up to the first invalid frame, and then what is behind it; if the
 * header is invalid, all of them. */
static void walk(struct wal *wal, bool holds, struct wal_rest *out)
{
    const size_t size = FRAME_BYTES + wal->page;
    uint64_t offset = HEADER_BYTES;
    wal->frame = mem_alloc(size);
    out->offset = holds ? offset : 0;
    while (fread(wal->frame, 1, size, wal->file) == size) {
        holds = holds && frame_holds(wal);
        offset += size;
        if (holds) {
            out->offset = offset;
        } else if (has_salt(wal)) {
            out->frames++;
            out->transactions += word_at(wal->frame + 4, true) != 0;
        }
    }
    mem_free(wal->frame, size);
}

/* The page size according to the database; 0: unknown. */
static size_t page_of(const char *database)
{
    uint8_t start[18];
    FILE *file = fopen(database, "rb");
    const bool is_read =
        file != NULL && fread(start, 1, sizeof start, file) == sizeof start;
    if (file != NULL) {
        (void)fclose(file);
    }
    const size_t size = is_read ? (size_t)start[16] << 8 | start[17] : 0;
    return size == 1 ? PAGE_MAX : size;
}

/* The salt of the first two consecutive frames that agree: whatever damaged the
 * header may have damaged the frame behind it as well. */
static bool guess_salt(struct wal *wal)
{
    uint8_t before[FRAME_BYTES] = {0};
    uint8_t frame[FRAME_BYTES];
    uint64_t count = 0;
    bool found = false;
    while (!found && fread(frame, 1, sizeof frame, wal->file) == sizeof frame &&
           fseek(wal->file, (long)wal->page, SEEK_CUR) == 0) {
        found = count > 0 && word_at(frame, true) != 0 &&
                memcmp(before + 8, frame + 8, 8) == 0;
        memcpy(before, frame, sizeof frame);
        count++;
    }
    memcpy(wal->header + 16, before + 8, 8);
    return found && fseek(wal->file, HEADER_BYTES, SEEK_SET) == 0;
}

/* An invalid header hides all frames. Then the page size is taken from the
 * database and the salt from the frames. */
static bool guess_header(struct wal *wal, const char *database)
{
    wal->page = page_of(database);
    return wal->page >= PAGE_MIN && (wal->page & (wal->page - 1)) == 0 &&
           guess_salt(wal);
}

static enum err read_once(const char *database,
                          const char *path,
                          struct wal_rest *out,
                          struct err_detail *detail)
{
    struct wal wal = {.file = fopen(path, "rb")};
    *out = (struct wal_rest){0};
    if (wal.file == NULL) {
        return errno == ENOENT
                   ? ERR_OK
                   : err_set(detail, ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (fread(wal.header, 1, HEADER_BYTES, wal.file) == HEADER_BYTES) {
        const bool holds = header_holds(&wal);
        if (holds || guess_header(&wal, database)) {
            walk(&wal, holds, out);
        }
    }
    const bool failed = ferror(wal.file) != 0;
    (void)fclose(wal.file); /* nothing was written to it */
    return failed ? err_set(detail, ERR_IO, "%s: it could not be read", path)
                  : ERR_OK;
}

enum err wal_inspect(const char *database,
                     struct wal_rest *out,
                     struct err_detail *detail)
{
    struct buf path = {0};
    struct wal_rest again;
    buf_printf(&path, "%s-wal", database);
    enum err err = read_once(database, buf_text(&path), out, detail);
    if (err == ERR_OK && out->transactions > 0) {
        err = read_once(database, buf_text(&path), &again, detail);
        if (again.offset != out->offset || again.frames != out->frames) {
            *out = (struct wal_rest){0}; /* it is being written */
        }
    }
    if (err != ERR_OK || out->transactions == 0) {
        *out = (struct wal_rest){0};
    }
    buf_release(&path);
    return err;
}
