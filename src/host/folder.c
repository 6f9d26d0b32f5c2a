/* Looking at a data directory. */

#include "host/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/spaces.h"

void folder_path(const char *folder, const char *space, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%s.db", folder, space);
}

/* -- The folder ---------------------------------------------------------- */

static enum err refuse_missing(const char *folder,
                               enum folder_access wanted,
                               struct err_detail *detail)
{
    return wanted == FOLDER_CREATE
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
                              enum folder_access wanted,
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

enum err folder_open(const char *folder,
                     enum folder_access wanted,
                     struct err_detail *detail)
{
    struct stat found;
    if (folder[0] == '\0') {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a data directory must have a "
                       "name");
    }
    if (wanted == FOLDER_CREATE && mkdir(folder, 0777) != 0 &&
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
    if (wanted != FOLDER_READ_ONLY && access(folder, W_OK) != 0) {
        return refuse_system(folder, wanted, errno, detail);
    }
    return ERR_OK;
}

/* -- Its spaces ---------------------------------------------------------- */

static bool has_spaces(const char *folder)
{
    space_files files;
    bool any = false;
    if (spaces_list(folder, &files, NULL) != ERR_OK) {
        return false;
    }
    VEC_FOREACH (&files, file) {
        any |= file->why_not == NULL;
    }
    space_files_release(&files);
    return any;
}

enum err folder_find(const char *folder,
                     const char *space,
                     enum folder_access wanted,
                     struct err_detail *detail)
{
    struct buf path = {0};
    folder_path(folder, space, &path);
    const bool there =
        wanted == FOLDER_CREATE || access(buf_text(&path), F_OK) == 0;
    buf_release(&path);
    if (there) {
        return ERR_OK;
    }
    return has_spaces(folder)
               ? err_set(detail,
                         ERR_NOT_FOUND,
                         "there is no space '%.60s' in the data directory: "
                         "check the name (%s)",
                         space,
                         folder)
               : err_set(detail,
                         ERR_NOT_FOUND,
                         "not a data directory: it contains no space; check "
                         "the path (%s)",
                         folder);
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

enum err folder_explain(const char *folder,
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
