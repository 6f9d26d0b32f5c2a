/* Whole command lines: whatever the words are, the command ends by itself with
 * one of its exit codes, and what it leaves behind is sound. The input is up to
 * LINES_MAX command lines, one word per line with an empty line between them;
 * they run one after the other in an empty directory with list.lua in it.
 *
 * "@1000(/a)" in a word stands for so many repetitions, so that a short input
 * reaches the limits. Each command is a process of its own, because it closes
 * its output and has signal handlers. */

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "fuzz.h"

/* src/cli/main.c, under another name. */
int heddle_main(int argc, char **argv);

enum {
    LINES_MAX = 4,
    WORDS_MAX = 24,
    REPEAT_MAX = 5000,
    WORD_BYTES_MAX = 100 * 1000, /* the system's own limit is 128 KiB */
    EXIT_SANITIZER = 99,
    EXIT_STOPPED = 130,
    STEP_MS = 5,
    STOP_AFTER_STEPS = 60,      /* commands that go on are asked to end */
    GIVE_UP_AFTER_STEPS = 12000 /* one that does not is a finding */
};

/* A finding of a sanitizer in the child is told apart from its exit codes. The
 * sanitizers look for these names. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "exitcode=99";
}
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "exitcode=99";
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

static const char pattern[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('list', function(p)\n"
    "  local items = p:state('items', heddle.array {})\n"
    "  local n = p:state('n', 1)\n"
    "  local open = p:computed('open', function() return #items:get() end)\n"
    "  p:effect('say', function() heddle.notify(n:get()) end)\n"
    "  local add = p:handler('add', function(e) items:append(e) return e end)\n"
    "  local key = p:handler('key', function(e) n:key(e):set(e) end)\n"
    "  return { items = items, n = n, open = open, add = add, key = key }\n"
    "end)\n";

/* -- The directory ------------------------------------------------------- */

static char folder[64];
static char said[80]; /* what the last command wrote */

static int remove_one(const char *path,
                      const struct stat *info,
                      int kind,
                      struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)chmod(path, 0700);
    return remove(path);
}

static void begin_folder(void)
{
    (void)snprintf(folder, sizeof folder, P_tmpdir "/heddle-command-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(said, sizeof said, "%s.said", folder);
    char path[96];
    (void)snprintf(path, sizeof path, "%s/list.lua", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(pattern, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void end_folder(void)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)remove(said);
}

/* -- Running ------------------------------------------------------------- */

static void run_child(char **words, int count)
{
    (void)signal(SIGTERM, SIG_DFL); /* which the fuzzer has taken */
    (void)signal(SIGINT, SIG_DFL);
    const int nothing = open("/dev/null", O_RDWR);
    const int told = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    /* The files of the person who runs this are not ours to change. */
    const bool ready =
        nothing >= 0 && told >= 0 && chdir(folder) == 0 &&
        setenv("HOME", ".", 1) == 0 && unsetenv("HEDDLE_KEY") == 0 &&
        dup2(nothing, STDIN_FILENO) >= 0 && dup2(told, STDOUT_FILENO) >= 0 &&
        dup2(told, STDERR_FILENO) >= 0;
    int code = ready ? heddle_main(count, words) : EXIT_SANITIZER;
    (void)fflush(NULL);
    /* Not by exit: to the fuzzer that would be a target that ends itself. */
    if (__lsan_do_recoverable_leak_check != NULL &&
        __lsan_do_recoverable_leak_check() != 0) {
        code = EXIT_SANITIZER;
    }
    _exit(code);
}

/* Shows the command line, how it ended and what it said, and gives up. */
_Noreturn static void fail_run(char *const *words, int count, int code)
{
    (void)fprintf(stderr, "the command ended with %d:", code);
    for (int i = 0; i < count; i++) {
        (void)fprintf(stderr, " '%.200s'", words[i]);
    }
    (void)fprintf(stderr, "\n");
    FILE *file = fopen(said, "r");
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)fputs(line, stderr);
    }
    abort();
}

/* The exit code, or that of a shell for a signal. */
static int run(char **words, int count)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run_child(words, count);
    }
    int status = 0;
    pid_t ended = 0;
    for (unsigned i = 0; ended == 0; i++) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0) {
            if (i == STOP_AFTER_STEPS) {
                (void)kill(child, SIGTERM);
            }
            CHECK(i < GIVE_UP_AFTER_STEPS);
            (void)poll(NULL, 0, STEP_MS);
        }
    }
    CHECK(ended == child);
    if (WIFSIGNALED(status)) {
        /* SIGTERM came before it listened to signals. */
        return WTERMSIG(status) == SIGTERM ? EXIT_STOPPED
                                           : 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* What was left behind is read by everything. */
static void check_space(void)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/heddle-data/main.db", folder);
    if (access(path, F_OK) != 0) {
        return;
    }
    char looks[][8] = {"check", "ps", "log"};
    for (size_t i = 0; i < COUNT_OF(looks); i++) {
        char name[] = "heddle";
        char *words[] = {name, looks[i], NULL};
        const int code = run(words, 2);
        if (code != 0 && code != EXIT_STOPPED) {
            fail_run(words, 2, code);
        }
    }
}

/* -- Words --------------------------------------------------------------- */

/* "@N(TEXT)" at `at`, appended N times; the bytes it took, or 0. */
static size_t repeat(struct buf *to, const char *at, const char *end)
{
    unsigned count = 0;
    const char *digit = at + 1;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        count = count < REPEAT_MAX ? count * 10 + (unsigned)(*digit - '0')
                                   : REPEAT_MAX;
    }
    if (digit == end || *digit != '(') {
        return 0;
    }
    const char *close = memchr(digit, ')', (size_t)(end - digit));
    if (close == NULL) {
        return 0;
    }
    const size_t length = (size_t)(close - digit) - 1;
    for (unsigned i = 0; i < count && to->length + length < WORD_BYTES_MAX;
         i++) {
        buf_append(to, digit + 1, length);
    }
    return (size_t)(close - at) + 1;
}

static void expand(struct buf *to, const char *at, const char *end)
{
    while (at < end && to->length < WORD_BYTES_MAX) {
        const size_t taken = *at == '@' ? repeat(to, at, end) : 0;
        if (taken > 0) {
            at += taken;
        } else {
            /* No system passes a zero byte. */
            buf_append_char(to, (char)(*at != '\0' ? *at : '0'));
            at++;
        }
    }
}

/* One command line from `at` on; where the next one begins. */
static const char *run_line(const char *at, const char *end)
{
    struct buf texts[WORDS_MAX] = {0};
    char name[] = "heddle";
    char *words[WORDS_MAX + 2] = {name};
    int count = 1;
    while (at < end && *at != '\n') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *stop = line != NULL ? line : end;
        if (count <= WORDS_MAX) {
            struct buf *text = &texts[count - 1];
            expand(text, at, stop);
            (void)buf_reserve(text, 1); /* also an empty one is a text */
            (void)buf_text(text);       /* terminated */
            words[count++] = text->at;
        }
        at = line != NULL ? line + 1 : end;
    }
    if (count > 1) {
        const int code = run(words, count);
        if ((code < 0 || code > 4) && code != EXIT_STOPPED) {
            fail_run(words, count, code);
        }
    }
    for (size_t i = 0; i < WORDS_MAX; i++) {
        buf_release(&texts[i]);
    }
    return at < end ? at + 1 : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    const char *const end = at + size;
    begin_folder();
    for (unsigned i = 0; i < LINES_MAX && at < end; i++) {
        at = run_line(at, end);
    }
    check_space();
    end_folder();
    return 0;
}
