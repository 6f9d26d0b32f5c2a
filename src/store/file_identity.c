/* Looking at the files of a database. */

#include "store/file_identity.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

static const char *const endings[FILE_COUNT] = {
    [FILE_DATABASE] = "",
    [FILE_WAL] = "-wal",
    [FILE_SHM] = "-shm",
    [FILE_LOCK] = "-lock",
};

static size_t name_size(const char *path, const char *ending)
{
    return strlen(path) + strlen(ending) + 1;
}

void file_identity_init(struct file_identity *files, const char *path)
{
    *files = (struct file_identity){0};
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        const size_t length = strlen(path);
        files->names[i] = mem_alloc(name_size(path, endings[i]));
        memcpy(files->names[i], path, length);
        memcpy(files->names[i] + length, endings[i], strlen(endings[i]) + 1);
    }
}

void file_identity_release(struct file_identity *files)
{
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        if (files->names[i] != NULL) {
            mem_free(files->names[i], strlen(files->names[i]) + 1);
        }
    }
    *files = (struct file_identity){0};
}

void file_identity_note(struct file_identity *files)
{
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        files->inodes[i] = 0;
        (void)file_identity_look(files, (enum database_file)i);
    }
}

enum file_change file_identity_look(struct file_identity *files,
                                    enum database_file file)
{
    struct stat found;
    if (files->names[file] == NULL) {
        return FILE_SAME;
    }
    if (stat(files->names[file], &found) != 0) {
        return files->inodes[file] != 0 ? FILE_DELETED : FILE_SAME;
    }
    if (files->inodes[file] == 0) {
        files->inodes[file] = (uint64_t)found.st_ino;
        files->shm_bytes = file == FILE_SHM ? 0 : files->shm_bytes;
    }
    if (files->inodes[file] != (uint64_t)found.st_ino) {
        return FILE_REPLACED;
    }
    if (file == FILE_SHM) {
        if ((uint64_t)found.st_size < files->shm_bytes) {
            return FILE_CUT;
        }
        files->shm_bytes = (uint64_t)found.st_size;
    }
    return file == FILE_DATABASE && found.st_size == 0 ? FILE_EMPTIED
                                                       : FILE_SAME;
}

const char *file_change_text(enum file_change change)
{
    static const char *const texts[] = {
        [FILE_SAME] = "is the same",
        [FILE_DELETED] = "was deleted",
        [FILE_REPLACED] = "was replaced by another file",
        [FILE_EMPTIED] = "was emptied",
        [FILE_CUT] = "was truncated",
    };
    return texts[change];
}
