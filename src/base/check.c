/* The one way in which the library ends the process. */

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

static check_panic_fn *panic_hook;

void check_set_panic(check_panic_fn *panic)
{
    panic_hook = panic;
}

_Noreturn void check_failed(const char *file, int line, const char *expr)
{
    char sentence[512];
    (void)snprintf(sentence,
                   sizeof sentence,
                   "%s:%d: check failed: %s",
                   file,
                   line,
                   expr);
    if (panic_hook != NULL) {
        panic_hook(sentence);
    } else {
        (void)fprintf(stderr, "%s\n", sentence);
    }
    abort();
}
