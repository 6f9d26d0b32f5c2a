/* Losing power (lib/power_loss.h is the manual). */

#include "lib/power_loss.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/fault_vfs.h"
#include "lib/store_workload.h"
#include "lib/test.h"

/* A step that was acknowledged, and where everything was then. */
struct mark {
    size_t position; /* changes of the disk */
    uint64_t record;
    struct digest chain;
};

/* A disk that was looked at, and what was found on it. Many moments leave the
 * same bytes behind, and the same bytes give the same answer: such a disk is
 * opened once. */
struct sight {
    XXH128_hash_t image;
    uint64_t record;
    struct digest chain;
    size_t state; /* whose documents were there */
};

struct life {
    const struct power_loss_options *options;
    struct power_loss_counts *counts;
    struct random random;
    struct workload workload;
    VEC(struct mark) marks; /* [0] is the open, [i] is step i - 1 */
    VEC(struct sight) sights;
};

/* A loss of power: where, what became of the disk, and which states of the
 * store (numbers of steps done) may be found after it. */
struct moment {
    size_t position;
    enum disk_outcome outcome;
    uint64_t seed; /* of the outcome */
    size_t low;
    size_t high;
    bool again; /* of a second life */
};

static bool complain(const struct life *life,
                     const struct moment *moment,
                     const char *what,
                     const char *why)
{
    return test_fail(__FILE__,
                     __LINE__,
                     "%s: %s\n  seed %" PRIu64 ", durability %d, %sposition "
                     "%zu, fate %d, steps %zu to %zu",
                     what,
                     why,
                     life->options->seed,
                     (int)life->options->durability,
                     moment->again ? "second life, " : "",
                     moment->position,
                     (int)moment->outcome,
                     moment->low,
                     moment->high);
}

/* -- The first life ------------------------------------------------------ */

static void set_mark(struct life *life, const struct disk *disk)
{
    const struct engine *engine = &life->workload.kit.engine;
    const struct mark mark = {
        .position = disk->changes.count,
        .record = engine->record,
        .chain = engine->chain,
    };
    vec_push(&life->marks, mark);
}

static bool live(struct life *life, struct disk *disk)
{
    struct workload *workload = &life->workload;
    const uint64_t failing = life->options->failing_sync;
    fault_vfs_use(disk);
    fault_vfs_plan((struct fault_plan){FAULT_SYNC, failing, false});
    enum err err = workload_open(workload);
    if (err != ERR_OK && failing > 0) {
        err = workload_open(workload);
    }
    for (size_t i = 0; err == ERR_OK && i < workload->steps.count; i++) {
        set_mark(life, disk);
        err = workload_run(workload, i);
        if (err != ERR_OK && failing > 0) {
            err = workload_run(workload, i);
        }
    }
    set_mark(life, disk);
    workload_close(workload);
    return err == ERR_OK || test_fail(__FILE__,
                                      __LINE__,
                                      "a step failed: %s",
                                      workload->kit.detail.text);
}

/* -- After it ------------------------------------------------------------ */

/* The state with that record and chain: the number of steps done, or SIZE_MAX.
 * Steps without a record of their own share one. */
static size_t find_state(const struct life *life,
                         const struct moment *moment,
                         uint64_t record,
                         const struct digest *chain)
{
    for (size_t i = moment->high + 1; i-- > moment->low;) {
        const struct mark *mark = &life->marks.at[i];
        if (mark->record == record &&
            memcmp(&mark->chain, chain, sizeof mark->chain) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static XXH128_hash_t image_of(const struct disk *disk)
{
    XXH128_hash_t image = {0};
    VEC_FOREACH (&disk->files, file) {
        const struct buf *content = &(*file)->content;
        const char *name = (*file)->name;
        const XXH128_hash_t parts[] = {
            image,
            XXH3_128bits(name, strlen(name)),
            XXH3_128bits(buf_text(content), content->length),
        };
        image = XXH3_128bits(parts, sizeof parts);
    }
    return image;
}

/* True if this disk was looked at before, and what was found is right for this
 * moment as well; *state is what it was. If it is not, a second look will
 * say so. */
static bool is_known(const struct life *life,
                     const struct moment *moment,
                     XXH128_hash_t image,
                     size_t *state)
{
    VEC_FOREACH (&life->sights, sight) {
        if (XXH128_isEqual(sight->image, image)) {
            *state = find_state(life, moment, sight->record, &sight->chain);
            return *state == sight->state;
        }
    }
    return false;
}

static void remember(struct life *life, XXH128_hash_t image, size_t state)
{
    const struct engine *engine = &life->workload.kit.engine;
    const struct sight sight = {
        .image = image,
        .record = engine->record,
        .chain = engine->chain,
        .state = state,
    };
    vec_push(&life->sights, sight);
}

/* Opens the engine on the disk in use and looks; *state is what it found. */
static bool look(struct life *life, const struct moment *moment, size_t *state)
{
    struct workload *workload = &life->workload;
    if (workload_open(workload) != ERR_OK) {
        return complain(life,
                        moment,
                        "the file does not open",
                        workload->kit.detail.text);
    }
    const struct engine *engine = &workload->kit.engine;
    *state = find_state(life, moment, engine->record, &engine->chain);
    if (*state == SIZE_MAX) {
        struct buf text = {0};
        buf_printf(&text,
                   "record %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                   engine->record,
                   life->marks.at[moment->low].record,
                   life->marks.at[moment->high].record);
        (void)complain(life, moment, "wrong history", buf_text(&text));
        buf_release(&text);
        return false;
    }
    struct buf why = {0};
    const bool equal = workload_look(workload, *state, &why) == WORKLOAD_EQUAL;
    if (!equal) {
        (void)complain(life, moment, "wrong documents", buf_text(&why));
    }
    buf_release(&why);
    return equal && (workload_verify(workload) ||
                     complain(life, moment, "engine_verify", "see above"));
}

/* Looks at a disk, which has no life after that, unless it is known. */
static bool look_once(struct life *life,
                      const struct moment *moment,
                      struct disk *disk,
                      size_t *state)
{
    const XXH128_hash_t image = image_of(disk);
    if (is_known(life, moment, image, state)) {
        return true;
    }
    disk->forgetful = true;
    fault_vfs_use(disk);
    const bool held = look(life, moment, state);
    if (held) {
        remember(life, image, *state);
    }
    workload_close(&life->workload);
    fault_vfs_use(NULL);
    return held;
}

/* The next step lands in a file that lost power. */
static bool go_on(struct life *life, const struct moment *moment, size_t *state)
{
    struct workload *workload = &life->workload;
    if (*state == workload->steps.count) {
        return true;
    }
    if (workload_run(workload, *state) != ERR_OK) {
        return complain(life,
                        moment,
                        "the next step failed",
                        workload->kit.detail.text);
    }
    (*state)++;
    struct buf why = {0};
    const bool equal = workload_look(workload, *state, &why) == WORKLOAD_EQUAL;
    if (!equal) {
        (void)complain(life, moment, "the next step is not there", why.at);
    }
    buf_release(&why);
    return equal;
}

static void count(struct life *life,
                  const struct moment *moment,
                  size_t acknowledged,
                  size_t state)
{
    struct power_loss_counts *counts = life->counts;
    counts->points++;
    counts->again += moment->again ? 1 : 0;
    const uint64_t record = life->marks.at[state].record;
    if (record < life->marks.at[acknowledged].record) {
        counts->shortened++;
    } else if (record > life->marks.at[acknowledged].record) {
        counts->landed++;
    } else {
        counts->dropped++;
    }
}

/* The second life, up to its own loss of power. What it found and what it did
 * is there afterwards; `disk` is its disk, `start` how it began.
 *
 * At normal there may be more than that. A WAL of which the middle was lost
 * ends there; but the second life commits the same again, byte by byte, and
 * with the gap closed the frames behind it count once more. They are what
 * followed in the first life, so this is a state that it went through. */
static bool lose_again(struct life *life,
                       const struct disk *disk,
                       const struct disk *start,
                       const struct moment *first,
                       size_t found,
                       size_t done)
{
    const bool full = life->options->durability == DURABILITY_FULL;
    struct disk_replay replay;
    struct disk image;
    struct moment moment = {
        .position = random_below(&life->random, disk->changes.count + 1),
        .outcome =
            (enum disk_outcome)random_below(&life->random, DISK_OUTCOME_COUNT),
        .low = full ? found : 0,
        .high = full || done > first->high ? done : first->high,
        .again = true,
    };
    disk_replay_init(&replay, disk, start);
    disk_replay_to(&replay, moment.position);
    disk_survivor(&replay, moment.outcome, &life->random, &image);
    disk_replay_release(&replay);
    size_t state = 0;
    const bool held = look_once(life, &moment, &image, &state) ||
                      complain(life, first, "after", "the first loss");
    disk_release(&image);
    if (held) {
        count(life, &moment, found, state);
    }
    return held;
}

/* The life after a loss of power, and that it can lose its own. */
static bool live_on(struct life *life,
                    const struct disk *start,
                    const struct moment *moment,
                    size_t acknowledged)
{
    struct disk disk;
    disk_copy(&disk, start);
    fault_vfs_use(&disk);
    size_t state = 0;
    bool held = look(life, moment, &state);
    if (held) {
        count(life, moment, acknowledged, state);
    }
    size_t done = state;
    held = held && go_on(life, moment, &done);
    workload_close(&life->workload);
    fault_vfs_use(NULL);
    held = held && lose_again(life, &disk, start, moment, state, done);
    disk_release(&disk);
    return held;
}

/* One loss of power. Some lives go on after it. */
static bool lose(struct life *life,
                 const struct disk_replay *replay,
                 const struct moment *moment,
                 size_t acknowledged)
{
    struct disk start;
    bool held = false;
    disk_survivor(replay, moment->outcome, &life->random, &start);
    if (random_one_in(&life->random, 4)) {
        held = live_on(life, &start, moment, acknowledged);
    } else {
        size_t state = 0;
        held = look_once(life, moment, &start, &state);
        if (held) {
            count(life, moment, acknowledged, state);
        }
    }
    disk_release(&start);
    return held;
}

/* -- All moments --------------------------------------------------------- */

static bool is_sync(const struct disk *disk, size_t index)
{
    return index < disk->changes.count &&
           disk_is_sync(&disk->changes.at[index]);
}

static bool is_tried(struct life *life, const struct disk *disk, size_t at)
{
    const bool beside_sync =
        is_sync(disk, at) || (at > 0 && is_sync(disk, at - 1));
    return random_one_in(&life->random,
                         beside_sync ? life->options->one_sync_in
                                     : life->options->one_other_in);
}

static bool try_fates(struct life *life,
                      const struct disk_replay *replay,
                      size_t acknowledged)
{
    const bool full = life->options->durability == DURABILITY_FULL;
    struct moment moment = {
        .position = replay->position,
        .low = full ? acknowledged : 0,
        .high = acknowledged + 1 < life->marks.count ? acknowledged + 1
                                                     : acknowledged,
    };
    if (!life->options->all_fates) {
        moment.outcome =
            (enum disk_outcome)random_below(&life->random, DISK_OUTCOME_COUNT);
        return lose(life, replay, &moment, acknowledged);
    }
    bool held = true;
    for (unsigned outcome = 0; held && outcome < DISK_OUTCOME_COUNT;
         outcome++) {
        moment.outcome = (enum disk_outcome)outcome;
        held = lose(life, replay, &moment, acknowledged);
    }
    return held;
}

static bool try_moments(struct life *life, const struct disk *disk)
{
    static const struct disk nothing = {0};
    struct disk_replay replay;
    bool held = true;
    size_t acknowledged = 0;
    disk_replay_init(&replay, disk, &nothing);
    for (size_t at = 0; held && at <= disk->changes.count; at++) {
        while (acknowledged + 1 < life->marks.count &&
               life->marks.at[acknowledged + 1].position <= at) {
            acknowledged++;
        }
        life->counts->syncs += is_sync(disk, at) ? 1 : 0;
        if (is_tried(life, disk, at)) {
            disk_replay_to(&replay, at);
            held = try_fates(life, &replay, acknowledged);
        }
    }
    life->counts->changes += disk->changes.count;
    disk_replay_release(&replay);
    return held;
}

bool power_loss_run(const struct power_loss_options *options,
                    struct power_loss_counts *counts)
{
    struct life *life = mem_alloc_zero(sizeof *life);
    struct disk disk = {0};
    life->options = options;
    life->counts = counts;
    random_init(&life->random, options->seed);
    /* Before SQLite is in use; nobody asks how much memory it has. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    fault_vfs_use(NULL);
    /* SQLite draws the salt of each WAL: the same seed, the same bytes. */
    (void)sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED,
                               (int)(options->seed % INT32_MAX) + 1,
                               NULL);
    workload_init(&life->workload,
                  options->seed,
                  options->steps,
                  options->durability);
    const bool held = live(life, &disk) && try_moments(life, &disk);
    fault_vfs_use(NULL);
    workload_release(&life->workload);
    vec_release(&life->marks);
    vec_release(&life->sights);
    mem_free(life, sizeof *life);
    disk_release(&disk);
    return held;
}
