/* Files about present processes, valid while their locks are held. */

#include "host/presence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/locked_file.h"
#include "value/array.h"
#include "value/object.h"

struct presence {
    struct locked_file file;
};

/* -- Leftovers ----------------------------------------------------------- */

/* Calls `visit` with each file of DIR/run, opened for reading. */
typedef void file_fn(void *ctx, const char *path, int fd);

static void visit_files(const char *folder, file_fn *visit, void *ctx)
{
    struct buf path = {0};
    buf_printf(&path, "%s/run", folder);
    const size_t front = path.length;
    DIR *all = opendir(buf_text(&path));
    const struct dirent *entry = NULL;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        path.length = front;
        buf_printf(&path, "/%s", entry->d_name);
        const int fd = open(buf_text(&path),
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0) {
            visit(ctx, buf_text(&path), fd);
            (void)close(fd);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
    buf_release(&path);
}

/* Whether a process holds it. The lock is shared, so it excludes no reader. */
static bool is_held(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        (void)flock(fd, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

static void sweep(void *ctx, const char *path, int fd)
{
    (void)ctx;
    /* A process that arrives with this name meanwhile waits for the lock, and
     * checks whether the file still exists. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(path);
    }
}

/* -- Coming and going ---------------------------------------------------- */

enum err presence_begin(const char *folder,
                        struct value session,
                        struct value about,
                        struct presence **out,
                        struct err_detail *detail)
{
    struct locked_file file;
    struct value object = value_ref(about);
    *out = NULL;
    visit_files(folder, sweep, NULL);
    object_put_adopt(&object, "session", value_ref(session));
    const enum err err =
        locked_file_open(&file, folder, "run", session, object, NULL, detail);
    value_unref(object);
    if (err == ERR_OK) {
        *out = mem_alloc(sizeof **out);
        (*out)->file = file;
    }
    return err;
}

void presence_end(struct presence *presence)
{
    if (presence != NULL) {
        locked_file_close(&presence->file);
        mem_free(presence, sizeof *presence);
    }
}

/* -- Queries ------------------------------------------------------------- */

static void read_one(void *ctx, const char *path, int fd)
{
    struct value *list = ctx;
    (void)path;
    struct value object = is_held(fd) ? locked_file_read(fd) : VALUE_NONE;
    if (!value_is_absent(object)) {
        *list = array_push_adopt(*list, object);
    }
}

struct value presence_list(const char *folder)
{
    struct value list = value_empty_array();
    visit_files(folder, read_one, &list);
    return list;
}

bool presence_has(struct value one, struct value space, struct value piece)
{
    const struct value pieces = object_field(one, "pieces");
    const struct value of = object_field(one, "space");
    bool has = false;
    if (value_is_array(pieces) && value_is_string(of) && key_equal(of, space)) {
        struct array_iter iter = array_iter(pieces);
        struct value name;
        while (array_next(&iter, &name)) {
            has = has || (value_is_string(name) && key_equal(name, piece));
        }
    }
    return has;
}
