/* Files that say who is there, as long as their locks are held. */

#include "host/presence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "value/array.h"
#include "value/id.h"
#include "value/json.h"
#include "value/object.h"

enum {
    NAME_LENGTH_MAX = 100, /* of a session that is its own file name */
    TEXT_BYTES_MAX = 64 * 1024,
};

struct presence {
    int fd;
    struct buf path;
};

/* -- Names --------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* A session that cannot be the name of a file has its digest. */
static void append_name(struct buf *to, struct value session)
{
    const struct text text = value_text(&session);
    bool plain = text.length > 0 && text.length <= NAME_LENGTH_MAX;
    for (size_t i = 0; plain && i < text.length; i++) {
        plain = is_plain(text.at[i]);
    }
    if (plain) {
        buf_append(to, text.at, text.length);
        return;
    }
    char digest[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest_of_bytes("heddle presence", text.at, text.length),
                 digest);
    buf_append_text(to, digest);
}

static enum err refuse(const char *what, struct err_detail *detail)
{
    const int code = errno;
    return err_set(detail,
                   code == ENOSPC || code == EDQUOT ? ERR_FULL : ERR_IO,
                   "%s: %s",
                   what,
                   strerror(code));
}

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

/* Whether somebody holds it. Nobody is kept from it: the lock is shared. */
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
    /* Whoever comes with this name meanwhile waits for the lock, and looks
     * whether the file is still there. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(path);
    }
}

/* -- Coming and going ---------------------------------------------------- */

static bool is_same_file(int fd, const char *path)
{
    struct stat held;
    struct stat found;
    return fstat(fd, &held) == 0 && stat(path, &found) == 0 &&
           held.st_ino == found.st_ino && held.st_dev == found.st_dev;
}

/* A file that is there, locked; -1 with errno. */
static int open_locked(const char *path)
{
    for (unsigned attempts = 0; attempts < 100; attempts++) {
        const int fd =
            open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) {
            return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_file(fd, path)) {
            return fd;
        }
        const int code = errno;
        (void)close(fd);
        errno = code;
    }
    return -1;
}

static bool write_text(int fd, struct value session, struct value about)
{
    struct value object = value_ref(about);
    struct buf text = {0};
    object_put_adopt(&object, "session", value_ref(session));
    object_put_adopt(&object, "pid", value_int(getpid()));
    json_write(&text, object, JSON_AS_GIVEN, 0);
    buf_append_char(&text, '\n');
    const bool written =
        ftruncate(fd, 0) == 0 &&
        pwrite(fd, text.at, text.length, 0) == (ssize_t)text.length;
    buf_release(&text);
    value_unref(object);
    return written;
}

enum err presence_begin(const char *folder,
                        struct value session,
                        struct value about,
                        struct presence **out,
                        struct err_detail *detail)
{
    struct buf path = {0};
    *out = NULL;
    visit_files(folder, sweep, NULL);
    buf_printf(&path, "%s/run", folder);
    if (mkdir(buf_text(&path), 0777) != 0 && errno != EEXIST) {
        buf_release(&path);
        return refuse("the folder for presence files cannot be made", detail);
    }
    buf_append_char(&path, '/');
    append_name(&path, session);
    const int fd = open_locked(buf_text(&path));
    if (fd < 0 || !write_text(fd, session, about)) {
        const enum err err =
            refuse("the presence file cannot be written", detail);
        if (fd >= 0) {
            (void)unlink(buf_text(&path));
            (void)close(fd);
        }
        buf_release(&path);
        return err;
    }
    *out = mem_alloc(sizeof **out);
    **out = (struct presence){fd, path};
    return ERR_OK;
}

void presence_end(struct presence *presence)
{
    if (presence == NULL) {
        return;
    }
    (void)unlink(buf_text(&presence->path));
    (void)close(presence->fd);
    buf_release(&presence->path);
    mem_free(presence, sizeof *presence);
}

/* -- Who is there -------------------------------------------------------- */

static void read_one(void *ctx, const char *path, int fd)
{
    struct value *list = ctx;
    (void)path;
    if (!is_held(fd)) {
        return;
    }
    struct buf text = {0};
    const ssize_t count =
        pread(fd, buf_reserve(&text, TEXT_BYTES_MAX), TEXT_BYTES_MAX, 0);
    struct value object = VALUE_NONE;
    if (count > 0) {
        buf_advance(&text, (size_t)count);
    }
    if (count > 0 &&
        json_read(text.at, text.length, NULL, &object, NULL) == ERR_OK &&
        value_is_object(object)) {
        *list = array_push_adopt(*list, object);
    } else {
        value_unref(object);
    }
    buf_release(&text);
}

struct value presence_list(const char *folder)
{
    struct value list = value_empty_array();
    visit_files(folder, read_one, &list);
    return list;
}
