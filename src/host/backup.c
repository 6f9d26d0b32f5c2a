/* Opening all spaces at one moment, and copying them one by one. */

#include "host/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/data_dir.h"
#include "host/system.h"
#include "store/spaces.h"
#include "value/array.h"
#include "value/object.h"

enum {
    MOMENT_ATTEMPTS = 50, /* to find one at which no commit lands */
};

struct copied_space {
    struct buf name; /* of the file */
    struct buf path;
    struct engine engine;
    bool is_open;
    bool reading;
};

struct making {
    const struct backup_options *options;
    VEC(struct copied_space *) spaces;
    struct buf part; /* the directory until it is whole */
    bool together;
    struct err_detail *detail;
};

static enum err system_error(const struct making *making,
                             const char *what,
                             const char *path)
{
    const int code = errno;
    return err_set(making->detail,
                   code == EEXIST || code == ENOTEMPTY ? ERR_ARGUMENT
                   : code == ENOSPC                    ? ERR_FULL
                                                       : ERR_IO,
                   "cannot %s %s: %s",
                   what,
                   path,
                   strerror(code));
}

/* -- The spaces ---------------------------------------------------------- */

/* A file with the name of a space that is none: a copy without it would look
 * complete. */
static enum err check_file(const struct space_file *file,
                           struct err_detail *detail)
{
    static const char ending[] = ".db";
    const size_t length = sizeof ending - 1;
    const char *name = buf_text(&file->name);
    if (file->why_not == NULL || file->name.length <= length ||
        strcmp(name + file->name.length - length, ending) != 0) {
        return ERR_OK;
    }
    return err_set(detail,
                   ERR_CORRUPT,
                   "%.80s cannot be copied: %s; repair the file, or move it "
                   "out of the directory",
                   name,
                   file->why_not);
}

static enum err find_spaces(struct making *making)
{
    const char *from = making->options->from;
    space_files files = {0};
    enum err err = data_dir_open(from, DATA_DIR_READ_ONLY, making->detail);
    if (err == ERR_OK) {
        err = spaces_list(from, &files, making->detail);
    }
    VEC_FOREACH (&files, file) {
        if (err == ERR_OK) {
            err = check_file(file, making->detail);
        }
        if (file->why_not == NULL) {
            struct copied_space *space = mem_alloc_zero(sizeof *space);
            buf_append_text(&space->name, buf_text(&file->name));
            buf_printf(&space->path, "%s/%s", from, buf_text(&file->name));
            vec_push(&making->spaces, space);
        }
    }
    space_files_release(&files);
    if (err == ERR_OK && making->spaces.count == 0) {
        err = err_set(making->detail,
                      ERR_NOT_FOUND,
                      "not a data directory: it contains no space; check the "
                      "path (%s)",
                      from);
    }
    return err;
}

static enum err open_spaces(struct making *making)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&making->spaces, at) {
        struct copied_space *space = *at;
        const struct engine_options options = {
            .path = buf_text(&space->path),
            .read_only = true,
        };
        if (err == ERR_OK) {
            err = engine_open(&space->engine, &options, making->detail);
            space->is_open = err == ERR_OK;
        }
    }
    return err;
}

static void end_reads(struct making *making)
{
    VEC_FOREACH (&making->spaces, space) {
        if ((*space)->reading) {
            engine_read_end(&(*space)->engine);
            (*space)->reading = false;
        }
    }
}

static enum err begin_reads(struct making *making, uint64_t *sum)
{
    enum err err = ERR_OK;
    *sum = 0;
    VEC_FOREACH (&making->spaces, at) {
        struct copied_space *space = *at;
        if (err == ERR_OK) {
            err = engine_read_begin(&space->engine, making->detail);
            space->reading = err == ERR_OK;
            *sum += space->engine.record;
        }
    }
    return err;
}

/* All spaces as they are at one moment (backup-1): the reads begin one after
 * the other, and if the same states are found twice in a row, nothing has
 * landed between the last beginning of the first round and the first beginning
 * of the second one. */
static enum err choose_moment(struct making *making)
{
    uint64_t before = 0;
    enum err err = begin_reads(making, &before);
    making->together = making->spaces.count == 1;
    for (unsigned i = 0;
         err == ERR_OK && !making->together && i < MOMENT_ATTEMPTS;
         i++) {
        uint64_t now = 0;
        end_reads(making);
        err = begin_reads(making, &now);
        making->together = now == before;
        before = now;
    }
    return err;
}

/* -- The copy ------------------------------------------------------------ */

static enum err sync_folder(const struct making *making, const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err err = ERR_OK;
    if (fd < 0 || fsync(fd) != 0) {
        err = system_error(making, "sync", path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return err;
}

static enum err copy_spaces(struct making *making)
{
    const struct backup_options *options = making->options;
    enum err err = ERR_OK;
    VEC_FOREACH (&making->spaces, at) {
        struct copied_space *space = *at;
        struct buf path = {0};
        buf_printf(&path,
                   "%s/%s",
                   buf_text(&making->part),
                   buf_text(&space->name));
        if (err == ERR_OK) {
            err = engine_backup(&space->engine,
                                buf_text(&path),
                                options->progress,
                                options->ctx,
                                making->detail);
        }
        buf_release(&path);
    }
    return err;
}

/* Gives the directory its name: a rename takes the place of an empty one, and
 * of nothing else. */
static enum err publish(struct making *making)
{
    const char *to = making->options->to;
    enum err err = sync_folder(making, buf_text(&making->part));
    if (err == ERR_OK && rename(buf_text(&making->part), to) != 0) {
        err = system_error(making, "create", to);
    }
    if (err == ERR_OK) {
        struct buf above = {0};
        buf_printf(&above, "%s/..", to);
        err = sync_folder(making, buf_text(&above));
        buf_release(&above);
    }
    return err;
}

static void remove_part(struct making *making)
{
    VEC_FOREACH (&making->spaces, space) {
        struct buf path = {0};
        buf_printf(&path,
                   "%s/%s",
                   buf_text(&making->part),
                   buf_text(&(*space)->name));
        (void)unlink(buf_text(&path));
        buf_release(&path);
    }
    (void)rmdir(buf_text(&making->part));
}

/* Before hours of copying: whether it can have its name. */
static enum err check_target(struct making *making)
{
    const char *to = making->options->to;
    struct stat there;
    if (lstat(to, &there) == 0 && rmdir(to) != 0) {
        return system_error(making, "create", to);
    }
    return ERR_OK;
}

static enum err make(struct making *making)
{
    size_t length = strlen(making->options->to);
    while (length > 1 && making->options->to[length - 1] == '/') {
        length--;
    }
    struct host *host = system_host();
    buf_printf(&making->part,
               "%.*s.part-%016" PRIx64,
               (int)length,
               making->options->to,
               host->random(host));
    enum err err = check_target(making);
    if (err == ERR_OK && mkdir(buf_text(&making->part), 0777) != 0) {
        return system_error(making, "create", buf_text(&making->part));
    }
    if (err == ERR_OK) {
        err = choose_moment(making);
        if (err == ERR_OK) {
            err = copy_spaces(making);
        }
        end_reads(making);
        err = err == ERR_OK ? publish(making) : err;
        if (err != ERR_OK) {
            remove_part(making);
        }
    }
    return err;
}

/* -- The whole ----------------------------------------------------------- */

static struct value describe(const struct making *making)
{
    struct value spaces = value_empty_array();
    VEC_FOREACH (&making->spaces, at) {
        const struct copied_space *space = *at;
        struct value one = value_empty_object();
        object_put_adopt(
            &one,
            "file",
            value_string_new(buf_text(&space->name), space->name.length));
        object_put_number(&one, "seq", space->engine.seq);
        spaces = array_push_adopt(spaces, one);
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "spaces", spaces);
    object_put_adopt(&object, "together", value_bool(making->together));
    return object;
}

enum err backup_make(const struct backup_options *options,
                     struct value *out,
                     struct err_detail *detail)
{
    struct making making = {.options = options, .detail = detail};
    *out = VALUE_NONE;
    enum err err = find_spaces(&making);
    if (err == ERR_OK) {
        err = open_spaces(&making);
    }
    if (err == ERR_OK) {
        err = make(&making);
    }
    if (err == ERR_OK) {
        *out = describe(&making);
    }
    VEC_FOREACH (&making.spaces, at) {
        struct copied_space *space = *at;
        if (space->is_open) {
            engine_close(&space->engine);
        }
        buf_release(&space->name);
        buf_release(&space->path);
        mem_free(space, sizeof *space);
    }
    vec_release(&making.spaces);
    buf_release(&making.part);
    return err;
}
