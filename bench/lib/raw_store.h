/* The floor below the store: hand-written C that inserts the rows of a commit
 * (its own, one revision, one document; of an event with a receipt one more of
 * both) into the tables of a store, with the same durability and grouping, from
 * texts that cost nothing to make. No admission, no conflicts, no replay check,
 * no chain. */

#ifndef BENCH_LIB_RAW_STORE_H
#define BENCH_LIB_RAW_STORE_H

#include <sqlite3.h>

#include "store/engine.h"

enum {
    RAW_DOCUMENTS = 1000, /* that are set in turn */
    RAW_TEXT_SIZE = 256
};

struct raw_store {
    char path[256]; /* "": in memory */
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *insert[6]; /* commit, revision, document, new document, patch,
                                document that was patched */
    uint64_t seq;
};

/* The same tables as the engine's, which is empty: a copy. A `path` means
 * `full`, NULL in memory. Ends the program if it cannot be. */
void raw_store_open(struct raw_store *store,
                    struct engine *engine,
                    const char *path);
void raw_store_end(struct raw_store *store);   /* its files stay */
void raw_store_close(struct raw_store *store); /* and go */

/* So many commits in one transaction. */
void raw_store_group(struct raw_store *store, unsigned count);

/* The same as events: each replaces a field of a document that is there, and
 * has a receipt, which is another document, with its revision, that must be
 * new. */
void raw_store_group_of_events(struct raw_store *store, unsigned count);

/* The same of commits that replace a field, and nothing else. */
void raw_store_group_of_patches(struct raw_store *store, unsigned count);

/* The text and the id of a document of the floor, and the text of a patch of
 * it; their lengths. */
size_t raw_store_text(char *to, uint64_t number);
size_t raw_store_patch(char *to, uint64_t number);
size_t raw_store_id(char *to, uint64_t document);

/* A statement, or the end of the program. */
sqlite3_stmt *raw_store_prepare(sqlite3 *db, const char *sql);

/* The files of a store that is closed. */
void raw_store_remove(const char *path);

#endif
