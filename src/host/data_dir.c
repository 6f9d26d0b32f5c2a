/* Finding the files of a data directory, and explaining failures. */

#include "host/data_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "store/spaces.h"
#include "value/address.h"

enum {
    NAMES_SHOWN = 8, /* of spaces, in a sentence */
};

void data_dir_path(const char *folder, const char *space, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%s.db", folder, space);
}

/* -- The folder ---------------------------------------------------------- */

static enum err refuse_missing(const char *folder,
                               enum data_dir_access wanted,
                               struct err_detail *detail)
{
    return wanted == DATA_DIR_CREATE
               ? err_set(detail,
                         ERR_NOT_FOUND,
                         "cannot create the data directory: its parent "
                         "directory does not exist; create that first (%s)",
                         folder)
               : err_set(detail,
                         ERR_NOT_FOUND,
                         "data directory not found: check the path, or create "
                         "it with a command that writes (%s)",
                         folder);
}

static enum err refuse_file(const char *folder, struct err_detail *detail)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   "this is a file, not a directory: give the directory that "
                   "contains the spaces (%s)",
                   folder);
}

static enum err refuse_system(const char *folder,
                              enum data_dir_access wanted,
                              int code,
                              struct err_detail *detail)
{
    switch (code) {
    case ENOENT:
        return refuse_missing(folder, wanted, detail);
    case ENOTDIR:
        return refuse_file(folder, detail);
    case EACCES:
    case EPERM:
    case EROFS:
        return err_set(detail,
                       ERR_IO,
                       "the data directory is not writable: change its "
                       "permissions, or open it read-only (%s: %s)",
                       folder,
                       strerror(code));
    case ENOSPC:
    case EDQUOT:
        return err_set(detail,
                       ERR_FULL,
                       "the disk is full: free some space and retry (%s)",
                       folder);
    default:
        return err_set(detail,
                       ERR_IO,
                       "the data directory cannot be used: %s (%s)",
                       strerror(code),
                       folder);
    }
}

static enum err refuse_reading(const char *folder, struct err_detail *detail)
{
    return err_set(detail,
                   ERR_IO,
                   "the data directory is not readable: change its "
                   "permissions, or use another account (%s)",
                   folder);
}

enum err data_dir_open(const char *folder,
                       enum data_dir_access wanted,
                       struct err_detail *detail)
{
    struct stat found;
    if (folder[0] == '\0') {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a data directory must have a "
                       "name");
    }
    if (wanted == DATA_DIR_CREATE && mkdir(folder, 0777) != 0 &&
        errno != EEXIST) {
        return refuse_system(folder, wanted, errno, detail);
    }
    if (stat(folder, &found) != 0) {
        return refuse_system(folder, wanted, errno, detail);
    }
    if (!S_ISDIR(found.st_mode)) {
        return refuse_file(folder, detail);
    }
    if (access(folder, R_OK | X_OK) != 0) {
        return refuse_reading(folder, detail);
    }
    if (wanted != DATA_DIR_READ_ONLY && access(folder, W_OK) != 0) {
        return refuse_system(folder, wanted, errno, detail);
    }
    return ERR_OK;
}

/* -- Its spaces ---------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(buf_text(&((const struct space_file *)a)->name),
                  buf_text(&((const struct space_file *)b)->name));
}

/* "; did you mean 'team'?" or "; there are main, team", for a space that is not
 * among them; nothing if there is none. */
static void append_spaces(const char *folder,
                          const char *wanted,
                          struct buf *to)
{
    static const char ending[] = ".db";
    const size_t tail = sizeof ending - 1;
    space_files files;
    struct nearest nearest;
    struct buf names = {0};
    size_t count = 0;
    if (spaces_list(folder, &files, NULL) != ERR_OK) {
        return;
    }
    nearest_begin(&nearest, wanted, strlen(wanted));
    if (files.count > 0) {
        qsort(files.at, files.count, sizeof *files.at, compare_names);
    }
    VEC_FOREACH (&files, file) {
        const struct buf *name = &file->name;
        const size_t length = name->length > tail ? name->length - tail : 0;
        if (file->why_not == NULL && length > 0 &&
            strcmp(buf_text(name) + length, ending) == 0) {
            nearest_offer(&nearest, name->at, length);
            if (count < NAMES_SHOWN) {
                buf_append_text(&names, count > 0 ? ", " : "; there are ");
                buf_append(&names, name->at, length);
            } else if (count == NAMES_SHOWN) {
                buf_append_text(&names, ", ...");
            }
            count++;
        }
    }
    const char *hint = nearest_hint(&nearest);
    buf_append_text(to, hint[0] != '\0' ? hint : buf_text(&names));
    buf_release(&names);
    space_files_release(&files);
}

enum err data_dir_find(const char *folder,
                       const char *space,
                       enum data_dir_access wanted,
                       struct err_detail *detail)
{
    const struct value id = value_text_new(space);
    const enum err err = space_id_check(id, detail);
    value_unref(id);
    if (err != ERR_OK) {
        return err;
    }
    struct buf path = {0};
    data_dir_path(folder, space, &path);
    const bool there =
        wanted == DATA_DIR_CREATE || access(buf_text(&path), F_OK) == 0;
    buf_release(&path);
    if (there) {
        return ERR_OK;
    }
    struct buf spaces = {0};
    append_spaces(folder, space, &spaces);
    (void)(spaces.length > 0
               ? err_set(detail,
                         ERR_NOT_FOUND,
                         "there is no space '%.60s' in %s%s",
                         space,
                         folder,
                         buf_text(&spaces))
               : err_set(detail,
                         ERR_NOT_FOUND,
                         "not a data directory: it contains no space; check "
                         "the path (%s)",
                         folder));
    buf_release(&spaces);
    return ERR_NOT_FOUND;
}

static const char *advice_for(enum err err)
{
    switch ((int)err) {
    case ERR_FULL:
        return "free some space on the disk and retry";
    case ERR_BUSY:
        return "another process uses it; retry";
    case ERR_CORRUPT:
        return "move the file away if it is not a space, or inspect it with "
               "'heddle store check'";
    case ERR_IO:
        return "check the permissions of the file and the disk";
    case ERR_STORE:
    case ERR_READ_ONLY:
        return "nothing was changed";
    default:
        return "try again";
    }
}

enum err data_dir_explain(const char *folder,
                          const char *space,
                          struct err_detail *detail)
{
    const struct err_detail why = *detail;
    return err_set(detail,
                   why.err,
                   "the space '%.60s' cannot be opened: %s; %s (%s)",
                   space,
                   why.text,
                   advice_for(why.err),
                   folder);
}
