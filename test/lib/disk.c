/* A disk in memory (lib/disk.h is the manual). */

#include "lib/disk.h"

#include <stdio.h>
#include <string.h>

/* -- Content ------------------------------------------------------------- */

static void set_length(struct buf *content, uint64_t length)
{
    if (length > content->length) {
        const size_t more = (size_t)length - content->length;
        memset(buf_reserve(content, more), 0, more);
        buf_advance(content, more);
    } else if (content->at != NULL) {
        content->length = (size_t)length;
        content->at[length] = '\0';
    }
}

static void put_bytes(struct buf *content,
                      uint64_t at,
                      const void *bytes,
                      size_t size)
{
    if (content->length < at + size) {
        set_length(content, at + size);
    }
    memcpy(content->at + at, bytes, size);
}

static void set_name(struct disk_file *file, const char *name)
{
    const int length = snprintf(file->name, sizeof file->name, "%s", name);
    CHECK(length >= 0 && (size_t)length < sizeof file->name);
}

/* -- Files --------------------------------------------------------------- */

static struct disk_file *add_file(struct disk *disk, const char *name)
{
    struct disk_file *file = mem_alloc_zero(sizeof *file);
    set_name(file, name);
    file->linked = true;
    vec_push(&disk->files, file);
    return file;
}

void disk_release(struct disk *disk)
{
    VEC_FOREACH (&disk->files, file) {
        buf_release(&(*file)->content);
        mem_free(*file, sizeof **file);
    }
    VEC_FOREACH (&disk->changes, change) {
        buf_release(&change->bytes);
    }
    vec_release(&disk->files);
    vec_release(&disk->changes);
}

void disk_copy(struct disk *to, const struct disk *from)
{
    *to = (struct disk){0};
    VEC_FOREACH (&from->files, file) {
        if ((*file)->linked) {
            struct disk_file *copy = add_file(to, (*file)->name);
            buf_append(&copy->content,
                       buf_text(&(*file)->content),
                       (*file)->content.length);
        }
    }
}

struct disk_file *disk_find(const struct disk *disk, const char *name)
{
    VEC_FOREACH (&disk->files, file) {
        if ((*file)->linked && strcmp((*file)->name, name) == 0) {
            return *file;
        }
    }
    return NULL;
}

/* Writes a change down; `file` may be NULL. */
static void note(struct disk *disk,
                 enum disk_change_kind kind,
                 const struct disk_file *file,
                 uint64_t at,
                 struct buf bytes)
{
    struct disk_change change = {.kind = kind, .at = at, .bytes = bytes};
    while (file != NULL && disk->files.at[change.file] != file) {
        change.file++;
    }
    vec_push(&disk->changes, change);
}

static void note_plain(struct disk *disk,
                       enum disk_change_kind kind,
                       const struct disk_file *file,
                       uint64_t at)
{
    if (!disk->forgetful) {
        note(disk, kind, file, at, (struct buf){0});
    }
}

struct disk_file *disk_create(struct disk *disk, const char *name)
{
    CHECK(disk_find(disk, name) == NULL);
    struct disk_file *file = add_file(disk, name);
    note_plain(disk, DISK_LINK, file, 0);
    return file;
}

void disk_remove(struct disk *disk, struct disk_file *file)
{
    file->linked = false;
    note_plain(disk, DISK_UNLINK, file, 0);
}

void disk_write(struct disk *disk,
                struct disk_file *file,
                uint64_t at,
                const void *bytes,
                size_t size)
{
    if (size == 0) {
        return;
    }
    put_bytes(&file->content, at, bytes, size);
    if (!disk->forgetful) {
        struct buf copy = {0};
        buf_append(&copy, bytes, size);
        note(disk, DISK_WRITE, file, at, copy);
    }
}

void disk_truncate(struct disk *disk, struct disk_file *file, uint64_t length)
{
    set_length(&file->content, length);
    note_plain(disk, DISK_TRUNCATE, file, length);
}

void disk_sync(struct disk *disk, struct disk_file *file)
{
    note_plain(disk, DISK_SYNC, file, 0);
}

void disk_sync_failed(struct disk *disk, struct disk_file *file)
{
    note_plain(disk, DISK_SYNC_FAILED, file, 0);
}

void disk_sync_folder(struct disk *disk)
{
    note_plain(disk, DISK_SYNC_FOLDER, NULL, 0);
}

/* -- Replay -------------------------------------------------------------- */

static void copy_file(struct disk_file *to, const struct disk_file *from)
{
    *to = (struct disk_file){.linked = from->linked};
    set_name(to, from->name);
    buf_append(&to->content, buf_text(&from->content), from->content.length);
}

void disk_replay_init(struct disk_replay *replay,
                      const struct disk *disk,
                      const struct disk *start)
{
    *replay = (struct disk_replay){.disk = disk};
    for (size_t i = 0; i < disk->files.count; i++) {
        struct disk_file file = {0};
        if (i < start->files.count) {
            copy_file(&file, start->files.at[i]);
        } else {
            set_name(&file, disk->files.at[i]->name);
        }
        vec_push(&replay->files, file);
    }
}

void disk_replay_release(struct disk_replay *replay)
{
    VEC_FOREACH (&replay->files, file) {
        buf_release(&file->content);
    }
    vec_release(&replay->files);
    vec_release(&replay->open);
}

static void apply_change(struct disk_file *file,
                         const struct disk_change *change)
{
    switch (change->kind) {
    case DISK_WRITE:
        put_bytes(&file->content,
                  change->at,
                  change->bytes.at,
                  change->bytes.length);
        break;
    case DISK_TRUNCATE:
        set_length(&file->content, change->at);
        break;
    case DISK_LINK:
        file->linked = true;
        break;
    case DISK_UNLINK:
        file->linked = false;
        break;
    case DISK_SYNC:
    case DISK_SYNC_FAILED:
    case DISK_SYNC_FOLDER:
        break;
    }
}

static bool is_of_folder(const struct disk_change *change)
{
    return change->kind == DISK_LINK || change->kind == DISK_UNLINK;
}

bool disk_is_sync(const struct disk_change *change)
{
    return change->kind == DISK_SYNC || change->kind == DISK_SYNC_FAILED ||
           change->kind == DISK_SYNC_FOLDER;
}

/* disk-1, disk-5. */
static bool is_covered(const struct disk_change *change,
                       const struct disk_change *sync)
{
    return sync->kind == DISK_SYNC_FOLDER
               ? is_of_folder(change)
               : !is_of_folder(change) && change->file == sync->file;
}

/* What the sync covers is durable, or lost if it failed (disk-6). */
static void settle_covered(struct disk_replay *replay,
                           const struct disk_change *sync)
{
    const bool failed = sync->kind == DISK_SYNC_FAILED;
    size_t kept = 0;
    VEC_FOREACH (&replay->open, index) {
        const struct disk_change *change = &replay->disk->changes.at[*index];
        const bool covered = is_covered(change, sync);
        if (covered && !failed) {
            apply_change(&replay->files.at[change->file], change);
        } else if (!covered) {
            replay->open.at[kept] = *index;
            kept++;
        }
    }
    replay->open.count = kept;
}

void disk_replay_to(struct disk_replay *replay, size_t position)
{
    CHECK(position >= replay->position);
    CHECK(position <= replay->disk->changes.count);
    for (size_t i = replay->position; i < position; i++) {
        const struct disk_change *change = &replay->disk->changes.at[i];
        if (disk_is_sync(change)) {
            settle_covered(replay, change);
        } else {
            vec_push(&replay->open, i);
        }
    }
    replay->position = position;
}

/* -- Losing power -------------------------------------------------------- */

/* disk-3: the piece that was being written. */
static void put_lost_piece(struct disk_file *file,
                           uint64_t at,
                           size_t size,
                           enum disk_outcome outcome,
                           struct random *random)
{
    unsigned char bytes[DISK_SECTOR] = {0};
    if (!random_one_in(random, 4)) {
        return;
    }
    if (outcome == DISK_KEEP_GARBAGE) {
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (unsigned char)random_u64(random);
        }
        put_bytes(&file->content, at, bytes, size);
    } else if (at >= file->content.length) {
        put_bytes(&file->content, at, bytes, size);
    }
}

/* disk-2: a write, piece by piece. */
static void put_pieces(struct disk_file *file,
                       const struct disk_change *change,
                       enum disk_outcome outcome,
                       struct random *random)
{
    size_t done = 0;
    while (done < change->bytes.length) {
        const uint64_t at = change->at + done;
        size_t size = (size_t)(DISK_SECTOR - at % DISK_SECTOR);
        if (size > change->bytes.length - done) {
            size = change->bytes.length - done;
        }
        if (random_one_in(random, 2)) {
            put_bytes(&file->content, at, change->bytes.at + done, size);
        } else {
            put_lost_piece(file, at, size, outcome, random);
        }
        done += size;
    }
}

static bool has_stopped(const struct disk *disk, const char *name)
{
    VEC_FOREACH (&disk->files, file) {
        if ((*file)->stopped && strcmp((*file)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* disk-5: each name stops somewhere on its way, whichever files had it. */
static void settle_names(const struct disk_replay *replay,
                         struct disk *out,
                         struct random *random)
{
    VEC_FOREACH (&replay->open, index) {
        const struct disk_change *change = &replay->disk->changes.at[*index];
        struct disk_file *file = out->files.at[change->file];
        if (is_of_folder(change) && !has_stopped(out, file->name)) {
            if (random_one_in(random, 2)) {
                apply_change(file, change);
            } else {
                file->stopped = true;
            }
        }
    }
}

static void settle(struct disk_file *file,
                   const struct disk_change *change,
                   enum disk_outcome outcome,
                   struct random *random)
{
    const bool in_pieces =
        outcome == DISK_KEEP_SECTORS || outcome == DISK_KEEP_GARBAGE;
    if (in_pieces && change->kind == DISK_WRITE) {
        put_pieces(file, change, outcome, random);
    } else if (random_one_in(random, 2)) {
        apply_change(file, change);
    }
}

/* The changes up to a random one, in order; that one is torn. */
static void settle_first(const struct disk_replay *replay,
                         struct disk *out,
                         struct random *random)
{
    const uint64_t whole = random_below(random, replay->open.count + 1);
    for (size_t i = 0; i < replay->open.count && i <= whole; i++) {
        const struct disk_change *change =
            &replay->disk->changes.at[replay->open.at[i]];
        struct disk_file *file = out->files.at[change->file];
        if (i < whole) {
            apply_change(file, change);
        } else if (change->kind == DISK_WRITE) {
            put_pieces(file, change, DISK_KEEP_SECTORS, random);
        }
    }
}

/* Only what has a name is found again. */
static void drop_nameless(struct disk *disk)
{
    size_t kept = 0;
    VEC_FOREACH (&disk->files, file) {
        if ((*file)->linked) {
            disk->files.at[kept] = *file;
            kept++;
        } else {
            buf_release(&(*file)->content);
            mem_free(*file, sizeof **file);
        }
    }
    disk->files.count = kept;
}

void disk_survivor(const struct disk_replay *replay,
                   enum disk_outcome outcome,
                   struct random *random,
                   struct disk *out)
{
    *out = (struct disk){0};
    VEC_FOREACH (&replay->files, file) {
        struct disk_file *copy = mem_alloc(sizeof *copy);
        copy_file(copy, file);
        vec_push(&out->files, copy);
    }
    if (outcome == DISK_KEEP_FIRST) {
        settle_first(replay, out, random);
    } else if (outcome != DISK_LOSE_ALL) {
        VEC_FOREACH (&replay->open, index) {
            const struct disk_change *change =
                &replay->disk->changes.at[*index];
            struct disk_file *file = out->files.at[change->file];
            if (outcome == DISK_KEEP_ALL) {
                apply_change(file, change);
            } else if (!is_of_folder(change)) {
                settle(file, change, outcome, random);
            }
        }
        if (outcome != DISK_KEEP_ALL) {
            settle_names(replay, out, random);
        }
    }
    drop_nameless(out);
}
