/* SQLite settings of the whole process.
 *
 * For a program with one thread, before it opens anything: SQLite then needs no
 * mutexes, does not count its memory, and allocates through the hooks of
 * base/mem.h. A library must not choose this for its host process. */

#ifndef STORE_SQLITE_SETUP_H
#define STORE_SQLITE_SETUP_H

void store_setup_sqlite(void);

#endif
