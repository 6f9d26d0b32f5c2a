/* SQLite's shared memory: wrappers of its methods. */

#include "store/shm_guard.h"

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "store/shared_map.h"

/* The file has the methods of its guard. */
static struct shm_guard *guard_of(const sqlite3_file *file)
{
    const uintptr_t methods = (uintptr_t)file->pMethods;
    return (struct shm_guard *)(methods - offsetof(struct shm_guard, methods));
}

static bool is_guarded(const struct shm_guard *guard, const void *at)
{
    for (unsigned i = 0; i < guard->part_count; i++) {
        if (guard->parts[i] == at) {
            return true;
        }
    }
    return guard->part_count == SHM_PARTS_MAX;
}

static int map_part(sqlite3_file *file,
                    int part,
                    int bytes,
                    int extend,
                    void volatile **out)
{
    struct shm_guard *guard = guard_of(file);
    const int code = guard->usual->xShmMap(file, part, bytes, extend, out);
    void *at = code == SQLITE_OK ? (void *)(uintptr_t)*out : NULL;
    if (at != NULL && !is_guarded(guard, at)) {
        guard->parts[guard->part_count++] = at;
        shared_map_guard(at, (size_t)bytes);
    }
    return code;
}

static void take_back(struct shm_guard *guard)
{
    for (unsigned i = 0; i < guard->part_count; i++) {
        shared_map_unguard(guard->parts[i]);
    }
    guard->part_count = 0;
}

static int unmap_parts(sqlite3_file *file, int remove)
{
    struct shm_guard *guard = guard_of(file);
    take_back(guard);
    return guard->usual->xShmUnmap(file, remove);
}

void shm_guard_begin(struct shm_guard *guard, sqlite3 *db)
{
    sqlite3_file *file = NULL;
    *guard = (struct shm_guard){.losses = shared_map_losses()};
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
            SQLITE_OK ||
        file == NULL || file->pMethods == NULL ||
        file->pMethods->iVersion < 2 || file->pMethods->xShmMap == NULL) {
        return; /* in memory, or without shared memory */
    }
    guard->usual = file->pMethods;
    guard->methods = *file->pMethods;
    guard->methods.xShmMap = map_part;
    guard->methods.xShmUnmap = unmap_parts;
    file->pMethods = &guard->methods;
}

bool shm_guard_is_lost(struct shm_guard *guard)
{
    const unsigned losses = shared_map_losses();
    if (LIKELY(losses == guard->losses)) {
        return false;
    }
    for (unsigned i = 0; i < guard->part_count; i++) {
        if (shared_map_is_lost(guard->parts[i])) {
            return true;
        }
    }
    guard->losses = losses;
    return false;
}
