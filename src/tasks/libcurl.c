/* Loading libcurl: the flavour with OpenSSL, or the one with GnuTLS. */

#include "tasks/libcurl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"

struct libcurl libcurl;

/* C has no cast from an object to a function. */
static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

bool libcurl_load(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    static bool loaded;
    for (size_t i = 0; !loaded && i < COUNT_OF(names); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        bool all = library != NULL;
#define X(name) all = all && find(library, #name, &libcurl.name);
        LIBCURL_FUNCTIONS(X)
#undef X
        loaded = all;
    }
    return loaded;
}
