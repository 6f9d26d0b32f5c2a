/* A file in memory that is shared with other processes, and that may be cut
 * short by any of them.
 *
 * The system kills a process that touches memory behind the end of such a file
 * (SIGBUS). A handler of that signal puts empty memory of the process's own in
 * its place instead: reading gives zeros, and the map says that it is lost. The
 * handler is only installed where the program has none, and leaves everything
 * to the system that is not about a map of this header. */

#ifndef STORE_SHARED_MAP_H
#define STORE_SHARED_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* The first bytes of a file, or NULL. */
void *shared_map_open(int fd, size_t bytes, bool writable);
void shared_map_close(void *at, size_t bytes);

/* Whether the file has lost bytes that were touched since. */
bool shared_map_is_lost(const void *at);

#endif
