/* Finding and reading the file of a zone. */

#include "host/zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    FILE_MOST = 65536, /* bytes; the largest are below 4 KB */
    NAME_MOST = 64,
};

struct zones_entry {
    struct value name;
    struct zone zone;
};

void zones_release(struct zones *zones)
{
    VEC_FOREACH (&zones->entries, entry) {
        value_unref((*entry)->name);
        zone_release(&(*entry)->zone);
        mem_free(*entry, sizeof **entry);
    }
    vec_release(&zones->entries);
}

/* A name becomes part of a path: letters, digits, and what names of zones have,
 * in parts that are not empty. */
static bool is_name(struct text name)
{
    char before = '/';
    if (name.length == 0 || name.length > NAME_MOST) {
        return false;
    }
    for (size_t i = 0; i < name.length; i++) {
        const char at = name.at[i];
        const bool is_letter = ((at | 0x20) >= 'a' && (at | 0x20) <= 'z') ||
                               (at >= '0' && at <= '9') || at == '_' ||
                               at == '+' || at == '-';
        if (!is_letter && (at != '/' || before == '/')) {
            return false;
        }
        before = at;
    }
    return before != '/';
}

static bool read_file(struct text name, struct buf *out)
{
    const char *given = getenv("TZDIR"); // NOLINT(concurrency-mt-unsafe)
    struct buf path = {0};
    buf_printf(&path,
               "%s/%.*s",
               given != NULL && given[0] == '/' ? given : "/usr/share/zoneinfo",
               (int)name.length,
               name.at);
    FILE *file = fopen(buf_text(&path), "rb");
    buf_release(&path);
    if (file == NULL) {
        return false;
    }
    char part[4096];
    size_t got = 0;
    do {
        got = fread(part, 1, sizeof part, file);
        buf_append(out, part, got);
    } while (got == sizeof part && out->length <= FILE_MOST);
    const bool done = ferror(file) == 0 && out->length <= FILE_MOST;
    (void)fclose(file);
    return done;
}

const struct zone *zones_find(struct zones *zones,
                              struct value name,
                              struct err_detail *detail)
{
    VEC_FOREACH (&zones->entries, entry) {
        if (key_equal((*entry)->name, name)) {
            return &(*entry)->zone;
        }
    }
    const struct text text = value_text(&name);
    struct buf bytes = {0};
    struct zone zone = {0};
    const bool is_read =
        is_name(text) && read_file(text, &bytes) &&
        zone_read((const unsigned char *)bytes.at, bytes.length, &zone, NULL) ==
            ERR_OK;
    buf_release(&bytes);
    if (!is_read) {
        (void)err_set(detail,
                      ERR_ARGUMENT,
                      "there is no time zone '%.*s' on this system: names are "
                      "those of the tz database, such as Europe/Berlin",
                      text_shown(text.at, text.length, NAME_MOST),
                      text.at);
        return NULL;
    }
    struct zones_entry *entry = mem_alloc_zero(sizeof *entry);
    entry->name = value_ref(name);
    entry->zone = zone;
    vec_push(&zones->entries, entry);
    return &entry->zone;
}
