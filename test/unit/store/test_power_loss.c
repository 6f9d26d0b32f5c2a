/* A store that loses its power: what was acknowledged is there. A sample of
 * what `./dev crash` does at length (test/sim/crash.c). First that the disk of
 * these tests forgets what it may, and keeps what it must. */

#include <string.h>

#include "lib/disk.h"
#include "lib/power_loss.h"
#include "lib/test.h"

/* -- The disk ------------------------------------------------------------ */

/* A disk with one file "a" of two sectors of 'x', durable with its name. */
static struct disk_file *set_up(struct disk *disk)
{
    char sectors[2 * DISK_SECTOR];
    memset(sectors, 'x', sizeof sectors);
    *disk = (struct disk){0};
    struct disk_file *file = disk_create(disk, "a");
    disk_write(disk, file, 0, sectors, sizeof sectors);
    disk_sync(disk, file);
    disk_sync_folder(disk);
    return file;
}

/* How often each first letter of a sector of "a" was found, over many losses
 * of power now, all outcomes; '-' is a file that is not there. */
struct tally {
    unsigned first[256];
    unsigned second[256];
    unsigned mixed; /* the sectors were of different age */
};

static void tally_survivors(const struct disk *disk, struct tally *tally)
{
    static const struct disk nothing = {0};
    struct random random;
    struct disk_replay replay;
    *tally = (struct tally){0};
    random_init(&random, 1);
    disk_replay_init(&replay, disk, &nothing);
    disk_replay_to(&replay, disk->changes.count);
    for (unsigned i = 0; i < 40 * DISK_OUTCOME_COUNT; i++) {
        struct disk image;
        disk_survivor(&replay, i % DISK_OUTCOME_COUNT, &random, &image);
        const struct disk_file *file = disk_find(&image, "a");
        const struct buf *content = file != NULL ? &file->content : NULL;
        const bool whole =
            content != NULL && content->length >= (size_t)2 * DISK_SECTOR;
        unsigned char first = '-';
        unsigned char second = '-';
        if (content != NULL) {
            first = (unsigned char)*buf_text(content);
        }
        if (whole) {
            second = (unsigned char)content->at[DISK_SECTOR];
        }
        tally->first[first]++;
        tally->second[second]++;
        tally->mixed += whole && first != second ? 1 : 0;
        disk_release(&image);
    }
    disk_replay_release(&replay);
}

TEST(what_was_synced_is_always_there)
{
    struct disk disk;
    struct tally tally;
    (void)set_up(&disk);
    tally_survivors(&disk, &tally);
    EXPECT_EQ(tally.first['x'], 40 * DISK_OUTCOME_COUNT);
    EXPECT_EQ(tally.second['x'], 40 * DISK_OUTCOME_COUNT);
    disk_release(&disk);
}

TEST(what_was_not_synced_is_there_or_not_or_torn)
{
    struct disk disk;
    struct tally tally;
    char sectors[2 * DISK_SECTOR];
    memset(sectors, 'y', sizeof sectors);
    struct disk_file *file = set_up(&disk);
    disk_write(&disk, file, 0, sectors, sizeof sectors);
    tally_survivors(&disk, &tally);
    EXPECT(tally.first['x'] > 20);
    EXPECT(tally.first['y'] > 20);
    EXPECT(tally.mixed > 10);
    EXPECT_EQ(tally.first['-'], 0);
    disk_release(&disk);
}

TEST(a_later_write_can_outlive_an_earlier_one)
{
    struct disk disk;
    struct tally tally;
    char sector[DISK_SECTOR];
    memset(sector, 'y', sizeof sector);
    struct disk_file *file = set_up(&disk);
    disk_write(&disk, file, 0, sector, sizeof sector);
    disk_write(&disk, file, DISK_SECTOR, sector, sizeof sector);
    tally_survivors(&disk, &tally);
    EXPECT(tally.first['x'] > tally.first['-']);
    EXPECT(tally.second['y'] > 20);
    EXPECT(tally.mixed > 10);
    disk_release(&disk);
}

TEST(a_file_without_a_durable_name_can_be_gone)
{
    struct disk disk = {0};
    struct tally tally;
    struct disk_file *file = disk_create(&disk, "a");
    disk_write(&disk, file, 0, "x", 1);
    disk_sync(&disk, file);
    tally_survivors(&disk, &tally);
    EXPECT(tally.first['-'] > 20);
    EXPECT(tally.first['x'] > 20);
    disk_release(&disk);
}

TEST(a_removed_file_can_be_back_until_the_folder_is_synced)
{
    struct disk disk;
    struct tally tally;
    struct disk_file *file = set_up(&disk);
    disk_remove(&disk, file);
    tally_survivors(&disk, &tally);
    EXPECT(tally.first['x'] > 20);
    EXPECT(tally.first['-'] > 20);

    disk_sync_folder(&disk);
    tally_survivors(&disk, &tally);
    EXPECT_EQ(tally.first['x'], 0);
    disk_release(&disk);
}

/* -- The store ----------------------------------------------------------- */

/* Valgrind is slow: there, one moment in five of those below will do. */
static unsigned stride(void)
{
    return test_is_slow() ? 5 : 1;
}

/* Every moment beside a sync, with every outcome, and some moments between. */
static void lose_at_every_sync(enum durability durability,
                               struct power_loss_counts *counts)
{
    const struct power_loss_options options = {
        .seed = 1,
        .durability = durability,
        .steps = 16,
        .one_sync_in = stride(),
        .one_other_in = 20 * stride(),
        .all_fates = true,
    };
    *counts = (struct power_loss_counts){0};
    (void)power_loss_run(&options, counts);
    EXPECT(counts->points >= (test_is_slow() ? 20 : 300));
    EXPECT(counts->landed > 0);
    EXPECT(counts->dropped > 0);
    EXPECT(counts->again > 0);
}

TEST(full_has_what_was_acknowledged_at_every_sync_boundary)
{
    struct power_loss_counts counts;
    lose_at_every_sync(DURABILITY_FULL, &counts);
    EXPECT_EQ(counts.shortened, 0);
}

TEST(normal_has_a_prefix_at_every_sync_boundary)
{
    struct power_loss_counts counts;
    lose_at_every_sync(DURABILITY_NORMAL, &counts);
    EXPECT(counts.shortened > 0);
}

static void lose_after_failed_sync(struct random *random,
                                   enum durability durability)
{
    const struct power_loss_options options = {
        .seed = random_below(random, UINT32_MAX),
        .durability = durability,
        .steps = 20,
        .failing_sync =
            1 + random_below(random, durability == DURABILITY_FULL ? 40 : 16),
        .one_sync_in = 10 * stride(),
        .one_other_in = (durability == DURABILITY_FULL ? 40 : 10) * stride(),
    };
    struct power_loss_counts counts = {0};
    (void)power_loss_run(&options, &counts);
}

PROPERTY(full_survives_a_sync_that_failed, 30)
{
    lose_after_failed_sync(random, DURABILITY_FULL);
}

PROPERTY(normal_survives_a_sync_that_failed, 40)
{
    lose_after_failed_sync(random, DURABILITY_NORMAL);
}

/* Another workload each round, at a few of its moments. */
static void lose_somewhere(struct random *random, enum durability durability)
{
    const struct power_loss_options options = {
        .seed = random_below(random, UINT32_MAX),
        .durability = durability,
        .steps = 30,
        .one_sync_in = 10 * stride(),
        .one_other_in = 40 * stride(),
    };
    struct power_loss_counts counts = {0};
    (void)power_loss_run(&options, &counts);
}

PROPERTY(full_has_what_was_acknowledged_at_any_moment, 60)
{
    lose_somewhere(random, DURABILITY_FULL);
}

PROPERTY(normal_has_a_prefix_at_any_moment, 30)
{
    lose_somewhere(random, DURABILITY_NORMAL);
}
