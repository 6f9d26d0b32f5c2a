/* Word of runs: a ring in memory, and several who speak and listen. */

#include "store/run_ring.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

enum {
    SPEAKERS = 4
};

struct room {
    struct run_ring_page ring;
    struct run_ring speakers[SPEAKERS];
};

static void room_begin(struct room *room)
{
    memset(room, 0, sizeof *room);
    for (int i = 0; i < SPEAKERS; i++) {
        room->speakers[i].ring = &room->ring;
        run_ring_hear(&room->speakers[i], true);
    }
}

static void room_end(struct room *room)
{
    for (int i = 0; i < SPEAKERS; i++) {
        run_ring_release(&room->speakers[i]);
    }
}

static void say(struct run_ring *run_ring, uint64_t action)
{
    run_ring_note(run_ring, 1, action);
    run_ring_end(run_ring, true);
}

/* "3 5", and "..." before them if some were missed. */
static const char *hear(struct run_ring *run_ring)
{
    static char text[200];
    run_words words = {0};
    run_ring_listen(run_ring);
    size_t length = 0;
    text[0] = '\0';
    if (!run_ring_take(run_ring, &words)) {
        length += (size_t)snprintf(text, sizeof text, "... ");
    }
    VEC_FOREACH (&words, word) {
        EXPECT_EQ(run_word_piece(*word), 1);
        length += (size_t)snprintf(text + length,
                                   sizeof text - length,
                                   "%" PRIu64 " ",
                                   run_word_action(*word));
    }
    vec_release(&words);
    EXPECT(!run_ring_is_waiting(run_ring));
    return text;
}

TEST(n2_others_hear_it_once_and_the_speaker_never)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    struct run_ring *b = &room.speakers[1];
    EXPECT(!run_ring_is_waiting(b));
    run_ring_note(a, 1, 5);
    run_ring_note(a, 1, 3);
    run_ring_note(a, 1, 5);
    EXPECT(!run_ring_is_waiting(b)); /* not yet */
    run_ring_end(a, true);
    EXPECT(run_ring_is_waiting(b));
    EXPECT(!run_ring_is_waiting(a));
    EXPECT_TEXT(hear(b), "3 5 ");
    EXPECT_TEXT(hear(b), "");
    EXPECT_TEXT(hear(a), "");
    EXPECT_TEXT(hear(&room.speakers[2]), "3 5 ");
    room_end(&room);
}

TEST(what_did_not_commit_is_never_said)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    run_ring_note(a, 1, 5);
    run_ring_end(a, false);
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    say(a, 6);
    EXPECT_TEXT(hear(&room.speakers[1]), "6 ");
    room_end(&room);
}

TEST(n2_who_has_run_it_since_does_not_hear_of_it)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    struct run_ring *b = &room.speakers[1];
    say(a, 3);
    say(a, 4);
    say(b, 4);
    say(b, 9);
    EXPECT_TEXT(hear(b), "3 ");
    EXPECT_TEXT(hear(a), "4 9 ");
    say(b, 4);
    say(a, 4); /* and again after it */
    EXPECT_TEXT(hear(b), "4 ");
    EXPECT_TEXT(hear(a), "");
    room_end(&room);
}

TEST(n3_who_was_away_while_the_ring_went_round_is_told)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    struct run_ring *b = &room.speakers[1];
    for (uint64_t i = 0; i < RUN_RING_SIZE; i++) {
        say(a, 1);
    }
    EXPECT_TEXT(hear(b), "1 ");
    for (uint64_t i = 0; i < RUN_RING_SIZE + 1; i++) {
        say(a, 2);
    }
    EXPECT_TEXT(hear(b), "... ");
    say(a, 3);
    EXPECT_TEXT(hear(b), "3 ");
    /* In one go. */
    for (uint64_t i = 0; i < RUN_RING_SIZE + 1; i++) {
        run_ring_note(a, 1, 4);
    }
    run_ring_end(a, true);
    say(b, 5); /* also if it speaks itself before it listens */
    EXPECT_TEXT(hear(b), "... ");
    room_end(&room);
}

TEST(n3_a_number_too_large_for_a_word_is_one_that_was_missed)
{
    static struct room room;
    room_begin(&room);
    run_ring_note(&room.speakers[0], 1, (uint64_t)UINT32_MAX + 1);
    run_ring_end(&room.speakers[0], true);
    say(&room.speakers[0], 2);
    EXPECT_TEXT(hear(&room.speakers[1]), "... 2 ");
    run_ring_note(&room.speakers[0], 1, UINT32_MAX);
    run_ring_end(&room.speakers[0], true);
    EXPECT_TEXT(hear(&room.speakers[1]), "4294967295 ");
    room_end(&room);
}

TEST(n1_a_writer_that_died_in_the_middle_leaves_nothing_behind)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    struct run_ring *b = &room.speakers[1];
    say(a, 1);
    EXPECT_TEXT(hear(b), "1 ");
    /* It had begun to write three words. */
    atomic_store(&room.ring.begun, atomic_load(&room.ring.end) + 3);
    atomic_store(&room.ring.words[atomic_load(&room.ring.end)], 77);
    EXPECT_TEXT(hear(b), "");
    say(a, 2);
    EXPECT_TEXT(hear(b), "2 ");
    room_end(&room);
}

/* Somebody overwrites the words while they are read: what `begun` says is
 * known to be gone is not taken. */
TEST(n3_words_that_are_being_overwritten_were_missed)
{
    static struct room room;
    room_begin(&room);
    struct run_ring *a = &room.speakers[0];
    struct run_ring *b = &room.speakers[1];
    say(a, 1);
    say(a, 2);
    atomic_store(&room.ring.begun, RUN_RING_SIZE + 1);
    EXPECT_TEXT(hear(b), "... ");
    say(a, 3);
    EXPECT_TEXT(hear(b), "3 ");
    room_end(&room);
}

TEST(a_ring_of_before_is_not_news)
{
    static struct room room;
    room_begin(&room);
    say(&room.speakers[0], 1);
    run_ring_hear(&room.speakers[1], true);
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    run_ring_hear(&room.speakers[1], false);
    say(&room.speakers[0], 2);
    EXPECT(!run_ring_is_waiting(&room.speakers[1]));
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    room_end(&room);
}

TEST(without_a_ring_nothing_is_said_or_heard)
{
    struct run_ring alone = {0};
    run_ring_hear(&alone, true);
    EXPECT(!run_ring_is_waiting(&alone));
    say(&alone, 1);
    EXPECT_TEXT(hear(&alone), "");
    run_ring_release(&alone);
}

/* -- Against a model ----------------------------------------------------- */

enum {
    ACTIONS = 12
};

/* For each listener and action: who ran it last since it was asked, or -1. */
struct said {
    int last[SPEAKERS][ACTIONS];
};

static void model_say(struct said *said, int who, int action)
{
    for (int i = 0; i < SPEAKERS; i++) {
        said->last[i][action] = who;
    }
}

PROPERTY(n2_all_hear_what_the_others_ran_last, 200)
{
    static struct room room;
    struct said said;
    room_begin(&room);
    for (int i = 0; i < SPEAKERS; i++) {
        for (int j = 0; j < ACTIONS; j++) {
            said.last[i][j] = -1;
        }
    }
    for (int step = 0; step < 100; step++) {
        const int who = (int)random_below(random, SPEAKERS);
        struct run_ring *run_ring = &room.speakers[who];
        if (random_below(random, 3) > 0) {
            const bool committed = random_below(random, 5) > 0;
            const uint64_t count = random_below(random, 4);
            for (uint64_t i = 0; i < count; i++) {
                const int action = (int)random_below(random, ACTIONS);
                run_ring_note(run_ring, 1, (uint64_t)action + 1);
                if (committed) {
                    model_say(&said, who, action);
                }
            }
            run_ring_end(run_ring, committed);
            continue;
        }
        char want[100] = "";
        for (int j = 0; j < ACTIONS; j++) {
            const int last = said.last[who][j];
            if (last != -1 && last != who) {
                const size_t length = strlen(want);
                (void)
                    snprintf(want + length, sizeof want - length, "%d ", j + 1);
            }
            said.last[who][j] = -1;
        }
        EXPECT_TEXT(hear(run_ring), want);
    }
    room_end(&room);
}
