/* Runs inputs once through a fuzz target, without a fuzzer: every file that
 * is named, and every file of a folder that is. Prints one test in the form
 * of TAP; a run without any file fails. */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"

static bool read_file(const char *name, struct buf *to)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        return false;
    }
    size_t got = 0;
    do {
        got = fread(buf_reserve(to, 4096), 1, 4096, file);
        buf_advance(to, got);
    } while (got > 0);
    const bool whole = ferror(file) == 0;
    (void)fclose(file);
    return whole;
}

/* The target gets a block of the exact size, so that a sanitizer sees every
 * byte that is read beyond it. */
static bool replay_file(const char *name)
{
    struct buf text = {0};
    const bool found = read_file(name, &text);
    if (found) {
        uint8_t *exact = malloc(text.length > 0 ? text.length : 1);
        CHECK(exact != NULL);
        if (text.length > 0) {
            memcpy(exact, text.at, text.length);
        }
        const size_t size = text.length;
        buf_release(&text);
        /* A failed check ends the process: the last name is the culprit. */
        (void)fprintf(stderr, "# %s\n", name);
        (void)LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    } else {
        buf_release(&text);
        (void)printf("# cannot read %s\n", name);
    }
    return found;
}

struct tally {
    unsigned files;
    unsigned unread;
};

static void replay(const char *name, struct tally *tally)
{
    DIR *folder = opendir(name);
    if (folder == NULL) {
        const bool found = replay_file(name);
        tally->files += found ? 1U : 0U;
        tally->unread += found ? 0U : 1U;
        return;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
            const bool found = replay_file(path);
            tally->files += found ? 1U : 0U;
            tally->unread += found ? 0U : 1U;
        }
    }
    (void)closedir(folder);
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    (void)printf("1..1\n");
    for (int i = 1; i < argc; i++) {
        replay(argv[i], &tally);
    }
    const bool ok = tally.files > 0 && tally.unread == 0;
    (void)printf("%sok 1 - replayed %u files\n", ok ? "" : "not ", tally.files);
    return ok ? 0 : 1;
}
