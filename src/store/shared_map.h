/* Memory-mapped files that are shared with other processes, any of which may
 * truncate them: the lock file, and SQLite's -shm (shm_guard.h).
 *
 * The system kills a process that touches memory behind the end of such a file
 * (SIGBUS). A signal handler maps private zeroed memory in its place instead:
 * reads return zeros, and the map is marked as lost. The handler is installed
 * only if the program has none, and passes on every signal that is not about
 * memory registered here. */

#ifndef STORE_SHARED_MAP_H
#define STORE_SHARED_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* Maps the first bytes of a file, or returns NULL. */
void *shared_map_open(int fd, size_t bytes, bool writable);
void shared_map_close(void *at, size_t bytes);

/* The same protection for memory mapped by other code; withdraw it before that
 * map ends. */
void shared_map_guard(void *at, size_t bytes);
void shared_map_unguard(const void *at);

/* Whether truncated memory was touched. */
bool shared_map_is_lost(const void *at);

/* How often that has happened in this process, to any map. */
unsigned shared_map_losses(void);

#endif
