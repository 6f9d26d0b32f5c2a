/* Time zones from the files of the system (base/zone.h).
 *
 * The files are in the directory that TZDIR names, or in /usr/share/zoneinfo.
 * A zone is read once per process, on first use. */

#ifndef HOST_ZONES_H
#define HOST_ZONES_H

#include "base/zone.h"
#include "value/value.h"

struct zones {
    VEC(struct zones_entry *) entries;
};

void zones_release(struct zones *zones);

/* The zone of that name, such as "Europe/Berlin"; borrowed. NULL: unknown, and
 * *detail says so. */
const struct zone *zones_find(struct zones *zones,
                              struct value name,
                              struct err_detail *detail);

#endif
