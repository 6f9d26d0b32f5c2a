/* The test framework: registers, runs, reports, and keeps the ledger of
 * memory. lib/test.h is the manual.
 *
 * The output is TAP. The comment lines ("# ...") of a test come before its
 * result line and are flushed at once, so that they survive a crash.
 *
 * The ledger records every live block of base/mem.h with its size, beside the
 * blocks and not in them: ASan and valgrind then guard exactly the bytes that
 * were asked for. A release that gives back another size than it took fails
 * the test, and a resize always moves, so that a pointer kept across one is
 * found in the first run and not in the field. */

#include "lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    /* A loop may fail a million times; the first few say it all. */
    FAILURES_SHOWN_MAX = 20,
    LEAKS_SHOWN_MAX = 5,

    /* Of a long text only the surroundings of the first difference are shown:
     * so many bytes before it, and so many in all. */
    QUOTE_LEAD = 24,
    QUOTE_LENGTH_MAX = 120,
    QUOTE_SIZE = 4 * QUOTE_LENGTH_MAX + 16, /* "\xNN" each, and the marks */

    LEDGER_CAPACITY_MIN = 1024,
};

/* Registered tests, in the order of the source: that is the order in which
 * both compilers list the constructors of one file. */
static struct test *first_test;
static struct test **tests_tail = &first_test;

/* Failures of the running test, or of the running round of a property. */
static atomic_uint failure_count;

void test_register(struct test *test)
{
    *tests_tail = test;
    tests_tail = &test->next;
}

/* ---- reports ---- */

/* Under the lock of the stream, so that threads do not mix their lines. */
static void print_comment(const char *file, int line, const char *text)
{
    flockfile(stdout);
    (void)printf("# %s:%d: ", file, line);
    for (const char *at = text; *at != '\0'; at++) {
        (void)putc(*at, stdout);
        if (*at == '\n') {
            (void)fputs("# ", stdout);
        }
    }
    (void)putc('\n', stdout);
    (void)fflush(stdout);
    funlockfile(stdout);
}

bool test_fail(const char *file, int line, const char *format, ...)
{
    const unsigned earlier = atomic_fetch_add(&failure_count, 1);
    if (earlier == FAILURES_SHOWN_MAX) {
        print_comment(file, line, "more failures follow, not shown");
    }
    if (earlier >= FAILURES_SHOWN_MAX) {
        return false;
    }

    va_list args;
    va_start(args, format);
    char *sentence = NULL;
    const int length = vasprintf(&sentence, format, args);
    va_end(args);
    CHECK(length >= 0);

    print_comment(file, line, sentence);
    free(sentence);
    return false;
}

/* The position of the first byte in which two texts differ. */
static size_t first_difference(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] != '\0' && a[at] == b[at]) {
        at++;
    }
    return at;
}

static char *quote_byte(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    if (byte == '\n') {
        out = stpcpy(out, "\\n");
    } else if (byte == '"' || byte == '\\') {
        *out++ = '\\';
        *out++ = (char)byte;
    } else if (byte >= ' ' && byte < 0x7f) {
        *out++ = (char)byte;
    } else {
        out = stpcpy(out, "\\x");
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

/* `text` between quotes, bytes beyond ASCII escaped, cut to what surrounds
 * `focus`. The result is `out`, or a constant for NULL. */
static const char *quote(char out[QUOTE_SIZE], const char *text, size_t focus)
{
    if (text == NULL) {
        return "NULL";
    }
    const size_t length = strlen(text);
    const bool is_long = length > QUOTE_LENGTH_MAX;
    const size_t from = is_long && focus > QUOTE_LEAD ? focus - QUOTE_LEAD : 0;
    const size_t rest = length - from;
    const size_t shown = rest < QUOTE_LENGTH_MAX ? rest : QUOTE_LENGTH_MAX;

    char *end = out;
    if (from > 0) {
        end = stpcpy(end, "...");
    }
    *end++ = '"';
    for (size_t i = from; i < from + shown; i++) {
        end = quote_byte(end, (unsigned char)text[i]);
    }
    *end++ = '"';
    (void)stpcpy(end, shown < rest ? "..." : "");
    return out;
}

bool test_eq_u64(const char *file,
                 int line,
                 const char *expr,
                 uint64_t got,
                 uint64_t want)
{
    return got == want || test_fail(file,
                                    line,
                                    "%s is %" PRIu64 ", expected %" PRIu64,
                                    expr,
                                    got,
                                    want);
}

bool test_eq_i64(const char *file,
                 int line,
                 const char *expr,
                 int64_t got,
                 int64_t want)
{
    return got == want || test_fail(file,
                                    line,
                                    "%s is %" PRId64 ", expected %" PRId64,
                                    expr,
                                    got,
                                    want);
}

bool test_eq_text(const char *file,
                  int line,
                  const char *expr,
                  const char *got,
                  const char *want)
{
    const bool both = got != NULL && want != NULL;
    const size_t at = both ? first_difference(got, want) : 0;
    if (both ? got[at] == want[at] : got == want) {
        return true;
    }
    char got_quoted[QUOTE_SIZE];
    char want_quoted[QUOTE_SIZE];
    return test_fail(file,
                     line,
                     "%s differs at byte %zu\n  is       %s\n  expected %s",
                     expr,
                     at,
                     quote(got_quoted, got, at),
                     quote(want_quoted, want, at));
}

bool test_contains(const char *file,
                   int line,
                   const char *expr,
                   const char *got,
                   const char *part)
{
    CHECK(part != NULL);
    if (got != NULL && strstr(got, part) != NULL) {
        return true;
    }
    char got_quoted[QUOTE_SIZE];
    char part_quoted[QUOTE_SIZE];
    return test_fail(
        file,
        line,
        "%s does not contain the text\n  is       %s\n  expected %s",
        expr,
        quote(got_quoted, got, 0),
        quote(part_quoted, part, 0));
}

/* ---- the ledger of memory ---- */

/* A block that is alive. Its address is kept inverted: the leak checkers of
 * ASan and valgrind would take the plain address for a user of the block, and
 * could not tell where a leaked one was allocated. */
struct block {
    uintptr_t hidden; /* 0: a free slot */
    size_t size;
    uint64_t number; /* blocks allocated before this one */
};

/* A hash table with linear probing, at most half full. The lock is there
 * because the library may be called from any thread. */
static struct {
    pthread_mutex_t lock;
    struct block *slots;
    size_t capacity; /* a power of two */
    size_t count;
    uint64_t blocks_made;
    uint64_t allocations;
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uintptr_t hide(const void *memory)
{
    return ~(uintptr_t)memory;
}

static size_t home_of(uintptr_t hidden)
{
    const uint64_t mixed = (uint64_t)hidden * 0x9E3779B97F4A7C15U;
    return (size_t)(mixed >> 32) & (ledger.capacity - 1);
}

static size_t next_slot(size_t slot)
{
    return (slot + 1) & (ledger.capacity - 1);
}

/* The slot of the block, or the free slot where it would be. */
static size_t find_slot(uintptr_t hidden)
{
    size_t slot = home_of(hidden);
    while (ledger.slots[slot].hidden != 0 &&
           ledger.slots[slot].hidden != hidden) {
        slot = next_slot(slot);
    }
    return slot;
}

static void ledger_grow(void)
{
    struct block *old = ledger.slots;
    const size_t old_capacity = ledger.capacity;

    ledger.capacity =
        old_capacity > 0 ? 2 * old_capacity : (size_t)LEDGER_CAPACITY_MIN;
    ledger.slots = calloc(ledger.capacity, sizeof *ledger.slots);
    CHECK(ledger.slots != NULL);
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].hidden != 0) {
            ledger.slots[find_slot(old[i].hidden)] = old[i];
        }
    }
    free(old);
}

static void ledger_add(const void *memory, struct block block)
{
    block.hidden = hide(memory);
    if (2 * (ledger.count + 1) > ledger.capacity) {
        ledger_grow();
    }
    struct block *slot = &ledger.slots[find_slot(block.hidden)];
    CHECK(slot->hidden == 0);
    *slot = block;
    ledger.count++;
}

/* The record of a block that is about to go; false if it is not alive. */
static bool ledger_remove(const void *memory, struct block *removed)
{
    if (ledger.count == 0) {
        return false;
    }
    size_t hole = find_slot(hide(memory));
    if (ledger.slots[hole].hidden == 0) {
        return false;
    }
    *removed = ledger.slots[hole];

    /* Whatever a search would now miss behind the hole moves into it: a block
     * whose home is not after the hole, on the way from the hole to it. */
    const size_t mask = ledger.capacity - 1;
    for (size_t slot = next_slot(hole); ledger.slots[slot].hidden != 0;
         slot = next_slot(slot)) {
        const size_t home = home_of(ledger.slots[slot].hidden);
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            ledger.slots[hole] = ledger.slots[slot];
            hole = slot;
        }
    }
    ledger.slots[hole] = (struct block){0};
    ledger.count--;
    return true;
}

static void *ledger_alloc(void *ctx, size_t size)
{
    (void)ctx;
    void *memory = malloc(size);
    CHECK(memory != NULL);

    (void)pthread_mutex_lock(&ledger.lock);
    ledger.allocations++;
    ledger_add(memory,
               (struct block){.size = size, .number = ledger.blocks_made++});
    (void)pthread_mutex_unlock(&ledger.lock);
    return memory;
}

/* Takes the block off the ledger and fails the test if the caller is mistaken
 * about it. A block that is not alive goes to the C library all the same: the
 * sanitizer or valgrind knows who released it before. */
static struct block retire(const void *memory, size_t size)
{
    struct block block = {.size = size};
    (void)pthread_mutex_lock(&ledger.lock);
    const bool alive = ledger_remove(memory, &block);
    (void)pthread_mutex_unlock(&ledger.lock);

    if (!alive) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "a block of %zu bytes that is not alive was given back",
                        size);
    } else if (block.size != size) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "a block of %zu bytes was given back as %zu bytes",
                        block.size,
                        size);
    }
    return block;
}

static void *ledger_resize(void *ctx,
                           void *memory,
                           size_t old_size,
                           size_t new_size)
{
    (void)ctx;
    struct block block = retire(memory, old_size);
    void *moved = malloc(new_size);
    CHECK(moved != NULL);
    memcpy(moved, memory, block.size < new_size ? block.size : new_size);
    free(memory);

    block.size = new_size;
    (void)pthread_mutex_lock(&ledger.lock);
    ledger.allocations++;
    ledger_add(moved, block);
    (void)pthread_mutex_unlock(&ledger.lock);
    return moved;
}

static void ledger_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)retire(memory, size);
    free(memory);
}

uint64_t test_allocations(void)
{
    (void)pthread_mutex_lock(&ledger.lock);
    const uint64_t allocations = ledger.allocations;
    (void)pthread_mutex_unlock(&ledger.lock);
    return allocations;
}

uint64_t test_blocks_alive(void)
{
    (void)pthread_mutex_lock(&ledger.lock);
    const uint64_t count = ledger.count;
    (void)pthread_mutex_unlock(&ledger.lock);
    return count;
}

/* Fails the test unless as many blocks are alive as before it. A leaked block
 * is named by its place in the order of allocation, which the same test with
 * the same seed repeats. */
static void expect_no_leak(uint64_t alive_before, uint64_t made_before)
{
    const uint64_t alive = test_blocks_alive();
    if (alive == alive_before) {
        return;
    }
    (void)test_fail(__FILE__,
                    __LINE__,
                    "leak: %" PRIu64 " blocks are alive, %" PRIu64
                    " were before the test",
                    alive,
                    alive_before);

    unsigned shown = 0;
    for (size_t i = 0; i < ledger.capacity && shown < LEAKS_SHOWN_MAX; i++) {
        const struct block *block = &ledger.slots[i];
        if (block->hidden != 0 && block->number >= made_before) {
            (void)printf("#   %zu bytes, block %" PRIu64 " of the test\n",
                         block->size,
                         block->number - made_before);
            shown++;
        }
    }
}

/* ---- the machine ---- */

bool test_is_slow(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

/* ---- files ---- */

const char *test_data_path(const char *relative)
{
    static char path[4096];
    const char *folder = getenv("HEDDLE_TEST_DATA");
    const int length = snprintf(path,
                                sizeof path,
                                "%s/%s",
                                folder != NULL ? folder : "test/data",
                                relative);
    CHECK(length >= 0);
    CHECK((size_t)length < sizeof path);
    return path;
}

/* Reads to the end of `file` and not to a size known before, so that it works
 * for pipes too. */
static char *read_all(FILE *file, size_t *length)
{
    size_t capacity = 4096;
    size_t used = 0;
    char *content = mem_alloc(capacity);
    for (;;) {
        used += fread(content + used, 1, capacity - used, file);
        if (used < capacity) {
            break;
        }
        content = mem_resize(content, capacity, 2 * capacity);
        capacity *= 2;
    }
    content = mem_resize(content, capacity, used + 1);
    content[used] = '\0';
    *length = used;
    return content;
}

char *test_read_file(const char *path, size_t *length)
{
    char *content = NULL;
    *length = 0;

    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        content = read_all(file, length);
        if (ferror(file) != 0) {
            test_release_file(content, *length);
            content = NULL;
        }
    }
    if (content == NULL) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s cannot be read: %s",
                        path,
                        strerror(errno));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return content;
}

void test_release_file(char *content, size_t length)
{
    mem_free(content, length + 1);
}

/* ---- running ---- */

struct options {
    bool help;
    bool list;
    uint64_t seed;
    uint64_t rounds;     /* 0: as many as each property says */
    uint64_t rounds_max; /* 0: no limit */
    char **words;
    int word_count;
};

/* Runs a test, or one round of a property; true if it held. */
static bool run_once(const struct test *test, uint64_t seed)
{
    const uint64_t alive_before = test_blocks_alive();
    const uint64_t made_before = ledger.blocks_made;
    atomic_store(&failure_count, 0);

    if (test->round != NULL) {
        struct random random;
        random_init(&random, seed);
        test->round(&random);
    } else {
        test->run();
    }
    expect_no_leak(alive_before, made_before);
    return atomic_load(&failure_count) == 0;
}

/* Each round starts from a seed of its own, so that one round can be repeated
 * without those before it. */
static bool run_property(const struct test *test, const struct options *options)
{
    uint64_t rounds = options->rounds > 0 ? options->rounds : test->rounds;
    if (options->rounds_max > 0 && rounds > options->rounds_max) {
        rounds = options->rounds_max;
    }
    CHECK(rounds > 0);

    (void)printf("# %s: seed %" PRIu64 "\n", test->name, options->seed);
    (void)fflush(stdout);
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t seed = options->seed + round;
        if (!run_once(test, seed)) {
            (void)printf("# failed in round %" PRIu64
                         ": repeat with --seed=%" PRIu64 " --rounds=1 %s\n",
                         round,
                         seed,
                         test->name);
            return false;
        }
    }
    return true;
}

static bool is_selected(const struct test *test, const struct options *options)
{
    for (int i = 0; i < options->word_count; i++) {
        if (strstr(test->name, options->words[i]) != NULL) {
            return true;
        }
    }
    return options->word_count == 0;
}

/* Takes the other tests off the list; returns how many stay. */
static unsigned select_tests(const struct options *options)
{
    unsigned count = 0;
    struct test **link = &first_test;
    while (*link != NULL) {
        if (is_selected(*link, options)) {
            link = &(*link)->next;
            count++;
        } else {
            *link = (*link)->next;
        }
    }
    return count;
}

static void list_tests(void)
{
    for (const struct test *test = first_test; test != NULL;
         test = test->next) {
        (void)puts(test->name);
    }
}

/* True if all held. */
static bool run_tests(unsigned planned, const struct options *options)
{
    (void)printf("1..%u\n", planned);
    (void)fflush(stdout);

    unsigned number = 0;
    unsigned failed = 0;
    for (const struct test *test = first_test; test != NULL;
         test = test->next) {
        const bool held = test->round != NULL ? run_property(test, options)
                                              : run_once(test, 0);
        number++;
        failed += held ? 0 : 1;
        (void)
            printf("%s %u - %s\n", held ? "ok" : "not ok", number, test->name);
        (void)fflush(stdout);
    }
    (void)printf("%u passed, %u failed\n", number - failed, failed);
    return failed == 0;
}

/* ---- arguments ---- */

/* Without --seed each run is the same: a change is judged by what it changed.
 * New seeds are drawn where somebody looks for what nobody has seen yet
 * (`./dev sanitize`, `./dev sim`). */
enum {
    SEED_DEFAULT = 20261116
};

static const char usage[] =
    "usage: %s [WORD...] [--list] [--seed=N] [--rounds=N] [--rounds-max=N]\n"
    "\n"
    "  WORD        run only the tests whose name contains one of the words\n"
    "  --list      print the names and run nothing\n"
    "  --seed=N    the seed of the first round of every property; `random`\n"
    "              draws one, without it is the same each time\n"
    "  --rounds=N  rounds of every property\n"
    "  --rounds-max=N\n"
    "              no more than so many: a property of fewer keeps its own\n";

/* A decimal number and nothing else; false if it is not one. */
static bool parse_u64(const char *text, uint64_t *number)
{
    uint64_t sum = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(sum, 10U, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum)) {
            return false;
        }
    }
    *number = sum;
    return at != text && *at == '\0';
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Scattered and not the time itself: two runs a second apart would otherwise
 * share all rounds but one. Half a word is enough, and can be typed. */
static uint64_t draw_seed(void)
{
    struct random random;
    random_init(&random, (uint64_t)time(NULL));
    return random_u64(&random) >> 32;
}

/* "NAME=N" with a number that is not 0. */
static bool parse_count(const char *text, const char *name, uint64_t *count)
{
    return has_prefix(text, name) && parse_u64(text + strlen(name), count) &&
           *count > 0;
}

static bool parse_option(const char *text, struct options *options)
{
    static const char seed[] = "--seed=";
    if (strcmp(text, "--list") == 0) {
        options->list = true;
        return true;
    }
    if (strcmp(text, "--help") == 0) {
        options->help = true;
        return true;
    }
    if (has_prefix(text, seed) && strcmp(text + strlen(seed), "random") == 0) {
        options->seed = draw_seed();
        return true;
    }
    if (has_prefix(text, seed)) {
        return parse_u64(text + strlen(seed), &options->seed);
    }
    return parse_count(text, "--rounds=", &options->rounds) ||
           parse_count(text, "--rounds-max=", &options->rounds_max);
}

/* Words and options may be mixed. The words stay in `argv`, moved together. */
static bool parse_options(int argc, char **argv, struct options *options)
{
    options->words = argv + 1;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            options->words[options->word_count++] = argv[i];
        } else if (!parse_option(argv[i], options)) {
            (void)fprintf(stderr, "%s: bad option %s\n", argv[0], argv[i]);
            (void)fprintf(stderr, usage, argv[0]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct mem_hooks hooks = {.alloc = ledger_alloc,
                                           .resize = ledger_resize,
                                           .free = ledger_free};
    mem_set_hooks(&hooks);

    struct options options = {.seed = SEED_DEFAULT};
    if (!parse_options(argc, argv, &options)) {
        return 2;
    }

    const unsigned selected = select_tests(&options);
    bool held = true;
    if (options.help) {
        (void)printf(usage, argv[0]);
    } else if (options.list) {
        list_tests();
    } else {
        held = run_tests(selected, &options);
    }

    /* A report that did not reach its reader is no pass. */
    const bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    return held && written ? EXIT_SUCCESS : EXIT_FAILURE;
}
