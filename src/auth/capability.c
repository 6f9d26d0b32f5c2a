/* Names of capabilities and principals. */

#include "auth/capability.h"

#include <string.h>

#include "base/check.h"
#include "value/utf8.h"

static const char *const names[] = {
    [CAPABILITY_NONE] = "NONE",
    [CAPABILITY_READ] = "READ",
    [CAPABILITY_WRITE] = "WRITE",
    [CAPABILITY_OWNER] = "OWNER",
};

const char *capability_name(enum capability capability)
{
    CHECK((size_t)capability < COUNT_OF(names));
    return names[capability];
}

bool capability_read(struct text name, enum capability *out)
{
    for (size_t i = CAPABILITY_READ; i < COUNT_OF(names); i++) {
        if (name.length == strlen(names[i]) &&
            memcmp(name.at, names[i], name.length) == 0) {
            *out = (enum capability)i;
            return true;
        }
    }
    *out = CAPABILITY_NONE;
    return false;
}

bool credential_covers(const struct credential *credential, struct text space)
{
    const size_t length = strlen(credential->space);
    return length == 0 || (length == space.length &&
                           memcmp(credential->space, space.at, length) == 0);
}

static bool has_control(struct text name)
{
    for (size_t i = 0; i < name.length; i++) {
        const unsigned char byte = (unsigned char)name.at[i];
        if (byte < 0x20 || byte == 0x7F) {
            return true;
        }
    }
    return false;
}

enum err principal_check(struct text name, struct err_detail *detail)
{
    if (name.length == 0 || name.length > PRINCIPAL_BYTES_MAX) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a principal has 1 to %d bytes, this one "
                       "has %zu",
                       PRINCIPAL_BYTES_MAX,
                       name.length);
    }
    if (!utf8_is_valid(name.at, name.length) || has_control(name)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the name of a principal is UTF-8 text without control "
                       "characters");
    }
    if (name.length == 1 && name.at[0] == '*') {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'*' stands for all principals and cannot be the name "
                       "of one");
    }
    return ERR_OK;
}
