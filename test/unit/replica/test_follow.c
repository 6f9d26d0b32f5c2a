/* src/replica/transaction: reading what is expected (transaction-6). */

#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/payload_write.h"

/* Three documents that hold 1, 2 and 3, a transaction that is expected to read
 * them in this order, and another that is not. */
struct reader {
    struct fixture fixture;
    struct read_link links[3];
    struct transaction *transaction;
};

static void reader_begin(struct reader *reader)
{
    static const char *const names[] = {"A", "B", "C"};
    *reader = (struct reader){0};
    fixture_open_local(&reader->fixture);
    EXPECT_COMMIT(&reader->fixture, "put A 1 | put B 2 | put C 3");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        reader->links[i].place = fixture_place(&reader->fixture, names[i]);
        reader->links[i].caused = true;
    }
    reader->transaction = fixture_begin(&reader->fixture);
    transaction_follow(reader->transaction, reader->links, 3);
}

static void reader_end(struct reader *reader)
{
    transaction_release(reader->transaction);
    for (size_t i = 0; i < COUNT_OF(reader->links); i++) {
        place_unref(reader->links[i].place);
    }
    EXPECT_STAGE(&reader->fixture);
    fixture_close(&reader->fixture);
}

static int64_t look(struct reader *reader, size_t index)
{
    struct value value;
    EXPECT_EQ(transaction_read(reader->transaction,
                               reader->links[index].place,
                               READ_DEEP,
                               READ_FOR_BOTH,
                               &value),
              ERR_OK);
    return value_integer(value);
}

TEST(reads_that_are_expected_are_noted_in_their_links_and_nowhere_else)
{
    struct reader reader;
    reader_begin(&reader);
    for (size_t i = 0; i < 3; i++) {
        EXPECT(!transaction_has_followed(reader.transaction));
        EXPECT_INT(look(&reader, i), (int64_t)i + 1);
        EXPECT_INT(look(&reader, 0), 1); /* again: says nothing new */
        EXPECT_EQ(reader.links[i].version,
                  reader.links[i].place->entity->version);
        EXPECT(!reader.links[i].caused);
    }
    EXPECT(transaction_has_followed(reader.transaction));
    EXPECT_EQ(reader.transaction->reads.count, 0);
    transaction_end_following(reader.transaction);
    reader_end(&reader);
}

/* A look that leaves no trace is none that was not expected. */
TEST(an_untracked_read_does_not_end_the_following)
{
    struct reader reader;
    reader_begin(&reader);
    for (size_t i = 0; i < 3; i++) {
        struct value value;
        EXPECT_EQ(transaction_read(reader.transaction,
                                   reader.links[2 - i].place,
                                   READ_DEEP,
                                   READ_UNTRACKED,
                                   &value),
                  ERR_OK);
        EXPECT_INT(value_integer(value), 3 - (int64_t)i);
        EXPECT_INT(look(&reader, i), (int64_t)i + 1);
    }
    EXPECT(transaction_has_followed(reader.transaction));
    EXPECT_EQ(reader.transaction->reads.count, 0);
    transaction_end_following(reader.transaction);
    reader_end(&reader);
}

/* What is in the log, in its order. */
static void expect_log(const struct reader *reader,
                       const size_t *indexes,
                       size_t count)
{
    const struct transaction *transaction = reader->transaction;
    if (!EXPECT_EQ(transaction->reads.count, count)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct read_entry *entry = &transaction->reads.at[i];
        EXPECT(entry->place == reader->links[indexes[i]].place);
        EXPECT_EQ(entry->kind, READ_DEEP);
        EXPECT_EQ(entry->flags, READ_FOR_BOTH);
        EXPECT_INT(value_integer(entry->seen), (int64_t)indexes[i] + 1);
    }
}

TEST(a_read_in_another_order_makes_up_for_the_log)
{
    struct reader reader;
    reader_begin(&reader);
    EXPECT_INT(look(&reader, 0), 1);
    EXPECT_INT(look(&reader, 2), 3);
    EXPECT(!transaction_has_followed(reader.transaction));
    EXPECT_INT(look(&reader, 1), 2);
    expect_log(&reader, (const size_t[]){0, 2, 1}, 3);
    reader_end(&reader);
}

TEST(the_log_is_made_up_for_before_somebody_else_can_change_what_was_read)
{
    struct reader reader;
    reader_begin(&reader);
    EXPECT_INT(look(&reader, 0), 1);
    EXPECT_INT(look(&reader, 1), 2);
    EXPECT_COMMIT(&reader.fixture, "put A 7");
    expect_log(&reader, (const size_t[]){0, 1}, 2);
    EXPECT(!transaction_has_followed(reader.transaction));
    /* transaction-2: it cannot commit on what it has seen. */
    struct err_detail detail;
    EXPECT_EQ(transaction_put_adopt(reader.transaction,
                                    reader.links[2].place,
                                    value_int(9),
                                    &detail),
              ERR_OK);
    EXPECT_EQ(transaction_commit(reader.transaction, &detail), ERR_STALE);
    reader_end(&reader);
}

TEST(links_that_were_not_read_here_and_shapes_are_not_followed)
{
    struct reader reader;
    reader_begin(&reader);
    reader.links[0].unread = LINK_RESTORED;
    EXPECT_INT(look(&reader, 0), 1);
    EXPECT_EQ(reader.transaction->reads.count, 1);
    reader_end(&reader);

    reader_begin(&reader);
    struct value value;
    EXPECT_EQ(transaction_read(reader.transaction,
                               reader.links[0].place,
                               READ_SHAPE,
                               READ_FOR_BOTH,
                               &value),
              ERR_OK);
    EXPECT_EQ(reader.transaction->reads.count, 1);
    EXPECT_EQ(reader.transaction->reads.at[0].kind, READ_SHAPE);
    reader_end(&reader);
}
