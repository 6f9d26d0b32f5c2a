/* Assertions that stay in every build.
 *
 * A failed check is a bug of ours, never of the input: the process stops
 * before it can commit a wrong state. Input from outside is validated with a
 * status code instead (base/err.h).
 *
 * CHECK is for conditions that cost a comparison. CHECK_DEEP walks a whole
 * structure and exists only where HD_PARANOID is defined (debug and fuzz
 * builds). */

#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stddef.h>

/* A rarely called function: it is not inlined into its callers, which then need
 * neither space nor registers for it. */
#define COLD __attribute__((cold, noinline))

/* The same for a function that may be called often; and a function that is
 * always inlined, separate only for readability. */
#define NOINLINE      __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Reports one line to the panic hook, or to stderr where none is set, and
 * aborts. The only place of the library that ends the process. */
COLD _Noreturn void check_failed(const char *file, int line, const char *expr);

/* Called with the sentence before the abort; process-wide, NULL restores the
 * default. It must not return to the library by longjmp. */
typedef void check_panic_fn(const char *sentence);
void check_set_panic(check_panic_fn *panic);

#define CHECK(expr) ((expr) ? (void)0 : check_failed(__FILE__, __LINE__, #expr))

/* Unreachable code; the sentence says why. */
#define UNREACHABLE(sentence) check_failed(__FILE__, __LINE__, sentence)

#ifdef HD_PARANOID
#define CHECK_DEEP(expr) CHECK(expr)
#else
#define CHECK_DEEP(expr) ((void)sizeof(expr))
#endif

#define CONTAINER_OF(ptr, type, member) \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define LIKELY(expr)   (__builtin_expect(!!(expr), 1))
#define UNLIKELY(expr) (__builtin_expect(!!(expr), 0))

#endif
