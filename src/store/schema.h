/* The tables of a space, and how an older file becomes a newer one.
 *
 * The version is in the file itself (PRAGMA user_version). Migrations
 * add, and remove nothing but what was remembered of runs; each runs in a
 * transaction of its own together with its version, so a crash between two of
 * them leaves a file that the next open completes. A file of a newer version,
 * or of another program, is refused. */

#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/database.h"

enum {
    SCHEMA_VERSION = 8,

    /* What files of this version and later ones lack are tables, which would
     * be empty: such a file can be read without being changed, with empty
     * tables of the connection's own. */
    SCHEMA_READABLE = 5,

    /* "Hdle": other programs' files are recognised by having another one. */
    SCHEMA_APPLICATION_ID = 1214541925,
};

MUST_CHECK enum err schema_open(struct database *database,
                                struct err_detail *detail);

#endif
