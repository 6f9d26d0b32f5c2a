/* Files in memory that are shared with other processes, and that may be cut
 * short by any of them: the lock file, and SQLite's -shm (shm_guard.h).
 *
 * The system kills a process that touches memory behind the end of such a file
 * (SIGBUS). A handler of that signal puts empty memory of the process's own in
 * its place instead: reading gives zeros, and the map says that it is lost. The
 * handler is only installed where the program has none, and leaves everything
 * to the system that is not about memory that was named here. */

#ifndef STORE_SHARED_MAP_H
#define STORE_SHARED_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* The first bytes of a file, or NULL. */
void *shared_map_open(int fd, size_t bytes, bool writable);
void shared_map_close(void *at, size_t bytes);

/* The same protection for memory that was mapped elsewhere, until it is taken
 * back, before the end of that map. */
void shared_map_guard(void *at, size_t bytes);
void shared_map_unguard(const void *at);

/* Whether the file has lost bytes that were touched since. */
bool shared_map_is_lost(const void *at);

/* How often that has happened in this process, to any of them. */
unsigned shared_map_losses(void);

#endif
