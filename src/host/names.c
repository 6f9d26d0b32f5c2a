/* Creating names, and looking up branches. */

#include "host/names.h"

#include "store/engine.h"

struct value names_new(struct host *host, const char *kind)
{
    struct buf text = {0};
    buf_printf(&text,
               "%s-%016llx%016llx",
               kind,
               (unsigned long long)host->random(host),
               (unsigned long long)host->random(host));
    struct value name = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return name;
}

enum err names_branch(const struct live_options *options,
                      struct engine *engine,
                      struct value *out,
                      struct err_detail *detail)
{
    const char *name = options->branch;
    *out = VALUE_NONE;
    if (name == NULL) {
        return ERR_OK;
    }
    const struct value text = value_text_new(name);
    const struct branch *branch = engine_branch(engine, text);
    if (branch != NULL &&
        (branch->active || options->access == DATA_DIR_READ_ONLY)) {
        *out = text;
        return ERR_OK;
    }
    value_unref(text);
    return branch == NULL
               ? err_set(detail,
                         ERR_BRANCH_UNKNOWN,
                         "there is no branch %s: 'heddle branch list' lists "
                         "the branches",
                         name)
               : err_set(detail,
                         ERR_BRANCH_CLOSED,
                         "the branch %s is closed: it can be read with "
                         "--stored, and merged",
                         name);
}
