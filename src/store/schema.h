/* The tables of a space, and migrations of older files.
 *
 * The version is in the file itself (PRAGMA user_version). Migrations add, and
 * remove nothing but records of runs; each runs in its own transaction together
 * with its version, so a crash between two of them leaves a file that the next
 * open completes. A file of a newer version, or of another program, is
 * refused. */

#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/database.h"

enum {
    SCHEMA_VERSION = 9,

    /* Files of this version and later ones lack only tables, which would be
     * empty, and columns that are derived: such a file can be read without a
     * change, with temporary tables and views of the connection. */
    SCHEMA_READABLE = 5,

    /* "Hdle": distinguishes our files from those of other programs. */
    SCHEMA_APPLICATION_ID = 1214541925,
};

MUST_CHECK enum err schema_open(struct database *database,
                                struct err_detail *detail);

#endif
