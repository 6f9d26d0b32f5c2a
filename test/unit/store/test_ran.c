/* Word of runs: a ring in memory, and several who speak and listen. */

#include "store/ran.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

enum {
    SPEAKERS = 4
};

struct room {
    struct ran_ring ring;
    struct ran speakers[SPEAKERS];
};

static void room_begin(struct room *room)
{
    memset(room, 0, sizeof *room);
    for (int i = 0; i < SPEAKERS; i++) {
        room->speakers[i].ring = &room->ring;
        ran_hear(&room->speakers[i], true);
    }
}

static void room_end(struct room *room)
{
    for (int i = 0; i < SPEAKERS; i++) {
        ran_release(&room->speakers[i]);
    }
}

static void say(struct ran *ran, uint64_t action)
{
    ran_note(ran, 1, action);
    ran_end(ran, true);
}

/* "3 5", and "..." before them if some were missed. */
static const char *hear(struct ran *ran)
{
    static char text[200];
    ran_words words = {0};
    ran_listen(ran);
    size_t length = 0;
    text[0] = '\0';
    if (!ran_take(ran, &words)) {
        length += (size_t)snprintf(text, sizeof text, "... ");
    }
    VEC_FOREACH (&words, word) {
        EXPECT_EQ(ran_piece(*word), 1);
        length += (size_t)snprintf(text + length,
                                   sizeof text - length,
                                   "%" PRIu64 " ",
                                   ran_action(*word));
    }
    vec_release(&words);
    EXPECT(!ran_is_waiting(ran));
    return text;
}

TEST(n2_others_hear_it_once_and_the_speaker_never)
{
    static struct room room;
    room_begin(&room);
    struct ran *a = &room.speakers[0];
    struct ran *b = &room.speakers[1];
    EXPECT(!ran_is_waiting(b));
    ran_note(a, 1, 5);
    ran_note(a, 1, 3);
    ran_note(a, 1, 5);
    EXPECT(!ran_is_waiting(b)); /* not yet */
    ran_end(a, true);
    EXPECT(ran_is_waiting(b));
    EXPECT(!ran_is_waiting(a));
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
    struct ran *a = &room.speakers[0];
    ran_note(a, 1, 5);
    ran_end(a, false);
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    say(a, 6);
    EXPECT_TEXT(hear(&room.speakers[1]), "6 ");
    room_end(&room);
}

TEST(n2_who_has_run_it_since_does_not_hear_of_it)
{
    static struct room room;
    room_begin(&room);
    struct ran *a = &room.speakers[0];
    struct ran *b = &room.speakers[1];
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
    struct ran *a = &room.speakers[0];
    struct ran *b = &room.speakers[1];
    for (uint64_t i = 0; i < RAN_WORDS; i++) {
        say(a, 1);
    }
    EXPECT_TEXT(hear(b), "1 ");
    for (uint64_t i = 0; i < RAN_WORDS + 1; i++) {
        say(a, 2);
    }
    EXPECT_TEXT(hear(b), "... ");
    say(a, 3);
    EXPECT_TEXT(hear(b), "3 ");
    /* In one go. */
    for (uint64_t i = 0; i < RAN_WORDS + 1; i++) {
        ran_note(a, 1, 4);
    }
    ran_end(a, true);
    say(b, 5); /* also if it speaks itself before it listens */
    EXPECT_TEXT(hear(b), "... ");
    room_end(&room);
}

TEST(n3_a_number_too_large_for_a_word_is_one_that_was_missed)
{
    static struct room room;
    room_begin(&room);
    ran_note(&room.speakers[0], 1, (uint64_t)UINT32_MAX + 1);
    ran_end(&room.speakers[0], true);
    say(&room.speakers[0], 2);
    EXPECT_TEXT(hear(&room.speakers[1]), "... 2 ");
    ran_note(&room.speakers[0], 1, UINT32_MAX);
    ran_end(&room.speakers[0], true);
    EXPECT_TEXT(hear(&room.speakers[1]), "4294967295 ");
    room_end(&room);
}

TEST(n1_a_writer_that_died_in_the_middle_leaves_nothing_behind)
{
    static struct room room;
    room_begin(&room);
    struct ran *a = &room.speakers[0];
    struct ran *b = &room.speakers[1];
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
    struct ran *a = &room.speakers[0];
    struct ran *b = &room.speakers[1];
    say(a, 1);
    say(a, 2);
    atomic_store(&room.ring.begun, RAN_WORDS + 1);
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
    ran_hear(&room.speakers[1], true);
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    ran_hear(&room.speakers[1], false);
    say(&room.speakers[0], 2);
    EXPECT(!ran_is_waiting(&room.speakers[1]));
    EXPECT_TEXT(hear(&room.speakers[1]), "");
    room_end(&room);
}

TEST(without_a_ring_nothing_is_said_or_heard)
{
    struct ran alone = {0};
    ran_hear(&alone, true);
    EXPECT(!ran_is_waiting(&alone));
    say(&alone, 1);
    EXPECT_TEXT(hear(&alone), "");
    ran_release(&alone);
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
        struct ran *ran = &room.speakers[who];
        if (random_below(random, 3) > 0) {
            const bool committed = random_below(random, 5) > 0;
            const uint64_t count = random_below(random, 4);
            for (uint64_t i = 0; i < count; i++) {
                const int action = (int)random_below(random, ACTIONS);
                ran_note(ran, 1, (uint64_t)action + 1);
                if (committed) {
                    model_say(&said, who, action);
                }
            }
            ran_end(ran, committed);
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
        EXPECT_TEXT(hear(ran), want);
    }
    room_end(&room);
}
