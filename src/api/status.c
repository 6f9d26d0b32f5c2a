/* The version, and the public face of the error table.
 *
 * include/heddle/heddle.h repeats numbers that base/err.h owns, because a
 * public header cannot be generated without a build. That the two lists are
 * the same is proved below, in both directions and by the compiler: a row
 * without a constant has no name to assert about, and a constant without a row
 * is an enumerator that the switch in err_of does not handle. */

#include "api/status.h"

#include <assert.h>

#define X(name, number, class, text)                 \
    static_assert((int)HD_##name == (int)ERR_##name, \
                  "HD_" #name " and ERR_" #name " differ");
ERR_TABLE(X)
#undef X

static_assert((int)HD_CLASS_NONE == (int)ERR_CLASS_NONE, "classes differ");
static_assert((int)HD_CLASS_RETRY == (int)ERR_CLASS_RETRY, "classes differ");
static_assert((int)HD_CLASS_PERMANENT == (int)ERR_CLASS_PERMANENT,
              "classes differ");
static_assert((int)HD_CLASS_TERMINAL == (int)ERR_CLASS_TERMINAL,
              "classes differ");
static_assert((int)HD_CLASS_FAULT == (int)ERR_CLASS_FAULT, "classes differ");

/* No default: every enumerator of hd_status needs its row. A number that is
 * none of them is passed on, and base/err.h calls it unknown. */
static enum err err_of(hd_status status)
{
    switch (status) {
#define X(name, number, class, text) \
    case HD_##name:                  \
        return ERR_##name;
        ERR_TABLE(X)
#undef X
    }
    return (enum err)status;
}

const char *hd_version(void)
{
    return HD_VERSION_TEXT;
}

const char *hd_status_name(hd_status status)
{
    return err_name(err_of(status));
}

const char *hd_status_text(hd_status status)
{
    return err_text(err_of(status));
}

hd_class hd_status_class(hd_status status)
{
    return (hd_class)err_class_of(err_of(status));
}
