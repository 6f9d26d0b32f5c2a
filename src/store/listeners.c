/* The processes that listen to runs: a shared lock on a byte of the lock
 * file. */

#include <fcntl.h>
#include <unistd.h>

#include "store/database.h"

enum {
    LOCK_LISTENERS_BYTE = 1,
};

void database_listen(struct database *database, bool listens)
{
    struct flock listener = {
        .l_type = listens ? F_RDLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_LISTENERS_BYTE,
        .l_len = 1,
    };
    if (database->lock.fd >= 0) {
        (void)fcntl(database->lock.fd, F_OFD_SETLK, &listener);
    }
    run_ring_hear(&database->run_ring, listens);
}

/* If an exclusive lock is impossible, there is another listener. */
bool database_has_listeners(const struct database *database)
{
    struct flock alone = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_LISTENERS_BYTE,
        .l_len = 1,
    };
    return database->lock.fd >= 0 &&
           fcntl(database->lock.fd, F_OFD_GETLK, &alone) == 0 &&
           alone.l_type != F_UNLCK;
}
