/* SQLite on a disk in memory (lib/fault_vfs.h is the manual). */

#include "lib/fault_vfs.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MAX_BYTES = 300,
    SHARED_REGION_BYTES = 32 * 1024,
    SHARED_REGIONS_MAX = 64,
};

/* The one disk, and what is to fail. */
static struct {
    struct disk *disk;
    struct fault_plan plan;
    uint64_t calls;
    uint64_t failures;
    unsigned connections;
} state;

struct vfs_file {
    sqlite3_file base; /* first: SQLite sees this */
    struct disk_file *file;
    bool is_database;
    bool syncs_folder;   /* with its next sync */
    bool goes_on_close;  /* SQLITE_OPEN_DELETEONCLOSE */
    size_t region_count; /* of shared memory */
    void *regions[SHARED_REGIONS_MAX];
};

static struct vfs_file *of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct vfs_file, base);
}

/* -- Faults -------------------------------------------------------------- */

static const char *const kind_names[FAULT_KIND_COUNT] = {
    [FAULT_NONE] = "none",
    [FAULT_OPEN] = "open",
    [FAULT_READ] = "read",
    [FAULT_WRITE] = "write",
    [FAULT_FULL] = "full",
    [FAULT_TRUNCATE] = "truncate",
    [FAULT_SYNC] = "sync",
    [FAULT_SIZE] = "size",
    [FAULT_REMOVE] = "remove",
    [FAULT_ACCESS] = "access",
    [FAULT_LOCK] = "lock",
    [FAULT_SHARED_MAP] = "shared map",
    [FAULT_SHARED_LOCK] = "shared lock",
};

const char *fault_kind_name(enum fault_kind kind)
{
    return kind_names[kind];
}

/* Counts a call; true if it is to fail. */
static bool fails(enum fault_kind kind)
{
    if (kind != state.plan.kind) {
        return false;
    }
    state.calls++;
    const bool hit = state.plan.lasting ? state.calls >= state.plan.first
                                        : state.calls == state.plan.first;
    state.failures += hit ? 1 : 0;
    return hit;
}

void fault_vfs_plan(struct fault_plan plan)
{
    state.plan = plan;
    state.calls = 0;
    state.failures = 0;
}

uint64_t fault_vfs_failures(void)
{
    return state.failures;
}

/* -- Files --------------------------------------------------------------- */

static int file_read(sqlite3_file *base, void *to, int size, sqlite3_int64 at)
{
    const struct buf *content = &of(base)->file->content;
    const size_t wanted = (size_t)size;
    const size_t from = (size_t)at;
    if (fails(FAULT_READ)) {
        return SQLITE_IOERR_READ;
    }
    size_t there = from < content->length ? content->length - from : 0;
    there = there < wanted ? there : wanted;
    if (there > 0) {
        memcpy(to, content->at + from, there);
    }
    memset((char *)to + there, 0, wanted - there);
    return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base,
                      const void *bytes,
                      int size,
                      sqlite3_int64 at)
{
    struct vfs_file *file = of(base);
    int code = SQLITE_OK;
    size_t written = (size_t)size;
    if (fails(FAULT_WRITE)) {
        code = SQLITE_IOERR_WRITE;
        written = 0;
    } else if (fails(FAULT_FULL)) {
        code = SQLITE_FULL;
        written /= 2;
    }
    disk_write(state.disk, file->file, (uint64_t)at, bytes, written);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 length)
{
    if (fails(FAULT_TRUNCATE)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    disk_truncate(state.disk, of(base)->file, (uint64_t)length);
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    struct vfs_file *file = of(base);
    if (fails(FAULT_SYNC)) {
        disk_sync_failed(state.disk, file->file);
        return SQLITE_IOERR_FSYNC;
    }
    disk_sync(state.disk, file->file);
    if (file->syncs_folder) {
        disk_sync_folder(state.disk);
        file->syncs_folder = false;
    }
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *out)
{
    if (fails(FAULT_SIZE)) {
        return SQLITE_IOERR_FSTAT;
    }
    *out = (sqlite3_int64)of(base)->file->content.length;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
    (void)base;
    (void)level;
    return fails(FAULT_LOCK) ? SQLITE_IOERR_LOCK : SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int level)
{
    (void)base;
    (void)level;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *out)
{
    (void)base;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *argument)
{
    (void)base;
    (void)op;
    (void)argument;
    return SQLITE_NOTFOUND;
}

/* As SQLite's own VFS for Unix answers on an ordinary file system. */
static int file_sector_size(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int file_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* -- Shared memory, of one connection ------------------------------------ */

static int shared_map(sqlite3_file *base,
                      int region,
                      int size,
                      int extend,
                      void volatile **out)
{
    struct vfs_file *file = of(base);
    *out = NULL;
    CHECK(size == SHARED_REGION_BYTES);
    CHECK(region >= 0 && region < SHARED_REGIONS_MAX);
    if (fails(FAULT_SHARED_MAP)) {
        return SQLITE_IOERR_SHMMAP;
    }
    while (extend != 0 && file->region_count <= (size_t)region) {
        file->regions[file->region_count] = mem_alloc_zero((size_t)size);
        file->region_count++;
    }
    if ((size_t)region < file->region_count) {
        *out = file->regions[region];
    }
    return SQLITE_OK;
}

static int shared_lock(sqlite3_file *base, int first, int count, int flags)
{
    (void)base;
    (void)first;
    (void)count;
    const bool locks = (flags & SQLITE_SHM_LOCK) != 0;
    return locks && fails(FAULT_SHARED_LOCK) ? SQLITE_IOERR_SHMLOCK : SQLITE_OK;
}

static void shared_barrier(sqlite3_file *base)
{
    (void)base;
}

static int shared_unmap(sqlite3_file *base, int remove)
{
    (void)remove;
    struct vfs_file *file = of(base);
    for (size_t i = 0; i < file->region_count; i++) {
        mem_free(file->regions[i], SHARED_REGION_BYTES);
    }
    file->region_count = 0;
    return SQLITE_OK;
}

static int file_close(sqlite3_file *base)
{
    struct vfs_file *file = of(base);
    (void)shared_unmap(base, 0);
    if (file->goes_on_close) {
        disk_remove(state.disk, file->file);
    }
    if (file->is_database) {
        state.connections--;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = shared_map,
    .xShmLock = shared_lock,
    .xShmBarrier = shared_barrier,
    .xShmUnmap = shared_unmap,
};

/* -- The file system ----------------------------------------------------- */

static int vfs_open(sqlite3_vfs *vfs,
                    const char *name,
                    sqlite3_file *base,
                    int flags,
                    int *flags_out)
{
    (void)vfs;
    struct vfs_file *file = of(base);
    *file = (struct vfs_file){0};
    if (name == NULL || state.disk == NULL || fails(FAULT_OPEN)) {
        return SQLITE_CANTOPEN;
    }
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
    file->file = disk_find(state.disk, name);
    if (file->file == NULL && !creates) {
        return SQLITE_CANTOPEN;
    }
    if (file->file == NULL) {
        file->file = disk_create(state.disk, name);
    }
    file->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    file->goes_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    file->syncs_folder =
        creates && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL |
                             SQLITE_OPEN_SUPER_JOURNAL)) != 0;
    if (file->is_database) {
        CHECK(state.connections == 0);
        state.connections++;
    }
    file->base.pMethods = &file_methods;
    if (flags_out != NULL) {
        *flags_out = flags;
    }
    return SQLITE_OK;
}

static int vfs_remove(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    if (fails(FAULT_REMOVE)) {
        return SQLITE_IOERR_DELETE;
    }
    struct disk_file *file = disk_find(state.disk, name);
    if (file == NULL) {
        return SQLITE_IOERR_DELETE_NOENT;
    }
    disk_remove(state.disk, file);
    if (sync_folder != 0) {
        disk_sync_folder(state.disk);
    }
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    if (fails(FAULT_ACCESS)) {
        return SQLITE_IOERR_ACCESS;
    }
    const struct disk_file *file = disk_find(state.disk, name);
    *out = file != NULL &&
           (flags != SQLITE_ACCESS_EXISTS || file->content.length > 0);
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs,
                         const char *name,
                         int size,
                         char *out)
{
    (void)vfs;
    (void)sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

/* The same every time: a run can be repeated. */
static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    memset(out, 7, (size_t)size);
    return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int vfs_now(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_now_day(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    (void)size;
    (void)out;
    return 0;
}

static sqlite3_vfs fault_vfs = {
    .iVersion = 2,
    .szOsFile = (int)sizeof(struct vfs_file),
    .mxPathname = NAME_MAX_BYTES,
    .zName = FAULT_VFS,
    .xOpen = vfs_open,
    .xDelete = vfs_remove,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_name,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_now_day,
    .xGetLastError = vfs_last_error,
    .xCurrentTimeInt64 = vfs_now,
};

void fault_vfs_use(struct disk *disk)
{
    CHECK(state.connections == 0);
    /* If SQLite is not in use yet. One connection needs no mutexes, which cost
     * a tenth of the time. */
    (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    if (sqlite3_vfs_find(FAULT_VFS) == NULL) {
        CHECK(sqlite3_vfs_register(&fault_vfs, 0) == SQLITE_OK);
    }
    state.disk = disk;
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
}

/* -- Real files ---------------------------------------------------------- */

/* The file of SQLite's own VFS comes right behind. */
struct real_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return CONTAINER_OF(file, struct real_file, base)->real;
}

#define REAL(base) real_of(base)->pMethods

static int real_close(sqlite3_file *base)
{
    return REAL(base)->xClose(real_of(base));
}

static int real_read(sqlite3_file *base, void *to, int size, sqlite3_int64 at)
{
    return fails(FAULT_READ) ? SQLITE_IOERR_READ
                             : REAL(base)->xRead(real_of(base), to, size, at);
}

static int real_write(sqlite3_file *base,
                      const void *bytes,
                      int size,
                      sqlite3_int64 at)
{
    if (fails(FAULT_WRITE)) {
        return SQLITE_IOERR_WRITE;
    }
    if (fails(FAULT_FULL)) {
        (void)REAL(base)->xWrite(real_of(base), bytes, size / 2, at);
        return SQLITE_FULL;
    }
    return REAL(base)->xWrite(real_of(base), bytes, size, at);
}

static int real_truncate(sqlite3_file *base, sqlite3_int64 length)
{
    return fails(FAULT_TRUNCATE) ? SQLITE_IOERR_TRUNCATE
                                 : REAL(base)->xTruncate(real_of(base), length);
}

static int real_sync(sqlite3_file *base, int flags)
{
    return fails(FAULT_SYNC) ? SQLITE_IOERR_FSYNC
                             : REAL(base)->xSync(real_of(base), flags);
}

static int real_size(sqlite3_file *base, sqlite3_int64 *out)
{
    return fails(FAULT_SIZE) ? SQLITE_IOERR_FSTAT
                             : REAL(base)->xFileSize(real_of(base), out);
}

static int real_lock(sqlite3_file *base, int level)
{
    return fails(FAULT_LOCK) ? SQLITE_IOERR_LOCK
                             : REAL(base)->xLock(real_of(base), level);
}

static int real_unlock(sqlite3_file *base, int level)
{
    return REAL(base)->xUnlock(real_of(base), level);
}

static int real_is_reserved(sqlite3_file *base, int *out)
{
    return REAL(base)->xCheckReservedLock(real_of(base), out);
}

static int real_control(sqlite3_file *base, int op, void *argument)
{
    return REAL(base)->xFileControl(real_of(base), op, argument);
}

static int real_sector_size(sqlite3_file *base)
{
    return REAL(base)->xSectorSize(real_of(base));
}

static int real_characteristics(sqlite3_file *base)
{
    return REAL(base)->xDeviceCharacteristics(real_of(base));
}

static int real_shared_map(sqlite3_file *base,
                           int region,
                           int size,
                           int extend,
                           void volatile **out)
{
    if (fails(FAULT_SHARED_MAP)) {
        return SQLITE_IOERR_SHMMAP;
    }
    return REAL(base)->xShmMap(real_of(base), region, size, extend, out);
}

static int real_shared_lock(sqlite3_file *base, int first, int count, int flags)
{
    const bool locks = (flags & SQLITE_SHM_LOCK) != 0;
    if (locks && fails(FAULT_SHARED_LOCK)) {
        return SQLITE_IOERR_SHMLOCK;
    }
    return REAL(base)->xShmLock(real_of(base), first, count, flags);
}

static void real_shared_barrier(sqlite3_file *base)
{
    REAL(base)->xShmBarrier(real_of(base));
}

static int real_shared_unmap(sqlite3_file *base, int remove)
{
    return REAL(base)->xShmUnmap(real_of(base), remove);
}

static const sqlite3_io_methods real_methods = {
    .iVersion = 2,
    .xClose = real_close,
    .xRead = real_read,
    .xWrite = real_write,
    .xTruncate = real_truncate,
    .xSync = real_sync,
    .xFileSize = real_size,
    .xLock = real_lock,
    .xUnlock = real_unlock,
    .xCheckReservedLock = real_is_reserved,
    .xFileControl = real_control,
    .xSectorSize = real_sector_size,
    .xDeviceCharacteristics = real_characteristics,
    .xShmMap = real_shared_map,
    .xShmLock = real_shared_lock,
    .xShmBarrier = real_shared_barrier,
    .xShmUnmap = real_shared_unmap,
};

static int real_open(sqlite3_vfs *vfs,
                     const char *name,
                     sqlite3_file *base,
                     int flags,
                     int *flags_out)
{
    (void)vfs;
    struct real_file *file = CONTAINER_OF(base, struct real_file, base);
    file->base.pMethods = NULL;
    if (fails(FAULT_OPEN)) {
        return SQLITE_CANTOPEN;
    }
    file->real = (sqlite3_file *)(void *)(file + 1);
    const int code =
        real_vfs->xOpen(real_vfs, name, file->real, flags, flags_out);
    if (file->real->pMethods != NULL) {
        file->base.pMethods = &real_methods;
    }
    return code;
}

static int real_remove(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    return fails(FAULT_REMOVE) ? SQLITE_IOERR_DELETE
                               : real_vfs->xDelete(real_vfs, name, sync_folder);
}

static int real_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    return fails(FAULT_ACCESS) ? SQLITE_IOERR_ACCESS
                               : real_vfs->xAccess(real_vfs, name, flags, out);
}

void fault_vfs_use_real(void)
{
    static sqlite3_vfs vfs;
    if (sqlite3_vfs_find(FAULT_REAL_VFS) == NULL) {
        real_vfs = sqlite3_vfs_find(NULL);
        vfs = *real_vfs;
        vfs.zName = FAULT_REAL_VFS;
        vfs.pNext = NULL;
        vfs.szOsFile += (int)sizeof(struct real_file);
        vfs.xOpen = real_open;
        vfs.xDelete = real_remove;
        vfs.xAccess = real_access;
        CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
    }
    fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
}

/* -- System calls -------------------------------------------------------- */

static struct {
    enum fault_calls kind;
    bool interrupted; /* the last call was */
    uint64_t count;
} calls;

/* How many bytes the call is to do; 0: it is interrupted. */
static size_t size_of_call(size_t size)
{
    if (calls.kind == CALLS_INTERRUPTED) {
        calls.interrupted = !calls.interrupted;
        calls.count += calls.interrupted ? 1 : 0;
        return calls.interrupted ? 0 : size;
    }
    calls.count += size > 1 ? 1 : 0;
    return (size + 1) / 2;
}

static ssize_t read_part(int fd, void *to, size_t size, off_t at)
{
    const size_t part = size_of_call(size);
    errno = EINTR;
    return part > 0 ? pread(fd, to, part, at) : -1;
}

static ssize_t write_part(int fd, const void *from, size_t size, off_t at)
{
    const size_t part = size_of_call(size);
    errno = EINTR;
    return part > 0 ? pwrite(fd, from, part, at) : -1;
}

void fault_calls_set(enum fault_calls kind)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    const sqlite3_syscall_ptr reads =
        kind == CALLS_PLAIN ? NULL : (sqlite3_syscall_ptr)read_part;
    const sqlite3_syscall_ptr writes =
        kind == CALLS_PLAIN ? NULL : (sqlite3_syscall_ptr)write_part;
    calls.kind = kind;
    calls.interrupted = false;
    calls.count = 0;
    /* One of each two is in use, depending on how SQLite was built. */
    (void)vfs->xSetSystemCall(vfs, "pread", reads);
    (void)vfs->xSetSystemCall(vfs, "pread64", reads);
    (void)vfs->xSetSystemCall(vfs, "pwrite", writes);
    (void)vfs->xSetSystemCall(vfs, "pwrite64", writes);
}

uint64_t fault_calls_count(void)
{
    return calls.count;
}
