/* The files of a runtime are deleted or replaced while it has them open. */

#include <unistd.h>

#include "unit/api/fixture.h"

/* A runtime that has stored n = 1, and the path of one of its files. */
struct place_on_disk {
    struct fixture fixture;
    char folder[256];
    hd_cell *n;
};

static void begin(struct place_on_disk *place)
{
    kit_folder_new(place->folder, sizeof place->folder);
    fixture_open(&place->fixture, place->folder, 1);
    place->n = cell_of(&place->fixture, "n", NULL);
    set_json(place->n, "1");
    fixture_settle(&place->fixture);
}

static void end(struct place_on_disk *place)
{
    hd_cell_free(place->n);
    fixture_close(&place->fixture);
    kit_folder_remove(place->folder);
}

static const char *file_of(const struct place_on_disk *place, const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", place->folder, name);
    return path;
}

/* A write is not confirmed, and the error has these words. */
static void expect_refused(struct place_on_disk *place, const char *words)
{
    hd_error error;
    set_json(place->n, "2");
    EXPECT_INT(hd_runtime_settled(place->fixture.runtime,
                                  place->fixture.now + 3000,
                                  &error),
               HD_TIMEOUT);
    if (!EXPECT(strstr(error.text, words) != NULL)) {
        EXPECT_TEXT(error.text, words);
    }
    EXPECT_INT(place->fixture.reported.status, HD_CORRUPT);
}

TEST(a_database_that_was_deleted_is_not_written_to)
{
    struct place_on_disk place;
    begin(&place);
    EXPECT_INT(unlink(file_of(&place, "main.db")), 0);
    expect_refused(&place, "main.db was deleted while this process");
    EXPECT(access(file_of(&place, "main.db"), F_OK) != 0);
    end(&place);
}

TEST(a_database_that_was_replaced_is_not_written_to)
{
    struct place_on_disk place;
    struct place_on_disk other;
    char from[300];
    begin(&place);
    begin(&other);
    set_json(other.n, "7");
    fixture_settle(&other.fixture);
    hd_cell_free(other.n);
    fixture_close(&other.fixture); /* and its WAL is in its file */
    (void)snprintf(from, sizeof from, "%s/main.db", other.folder);
    EXPECT_INT(rename(from, file_of(&place, "main.db")), 0);
    expect_refused(&place, "main.db was replaced by another file while");
    kit_folder_remove(other.folder);
    end(&place);
}

TEST(a_database_that_was_emptied_is_not_written_to)
{
    struct place_on_disk place;
    begin(&place);
    EXPECT_INT(truncate(file_of(&place, "main.db"), 0), 0);
    expect_refused(&place, "main.db was emptied while this process");
    end(&place);
}

/* One runtime has the old files open, another one comes with new ones, and both
 * write. */
static void expect_nothing_lost(const char *deleted)
{
    struct place_on_disk place;
    struct fixture second;
    hd_error error;
    begin(&place);
    EXPECT_INT(unlink(file_of(&place, deleted)), 0);
    fixture_open(&second, place.folder, 2);
    hd_cell *n = cell_of(&second, "n", NULL);
    hd_cell *m = cell_of(&second, "m", NULL);
    expect_json(n, "1");
    set_json(m, "2");
    fixture_settle(&second);
    set_json(place.n, "3");
    fixture_settle(&place.fixture);
    EXPECT_INT(hd_runtime_step(second.runtime, HD_NOW, &error), HD_OK);
    second.now += 2000;
    fixture_settle(&second);
    expect_json(n, "3");
    set_json(m, "4");
    fixture_settle(&second);
    hd_cell_free(n);
    hd_cell_free(m);
    fixture_close(&second);
    hd_cell_free(place.n);
    fixture_close(&place.fixture);
    fixture_open(&second, place.folder, 3);
    n = cell_of(&second, "n", NULL);
    m = cell_of(&second, "m", NULL);
    expect_json(n, "3");
    expect_json(m, "4");
    hd_cell_free(n);
    hd_cell_free(m);
    fixture_close(&second);
    kit_folder_remove(place.folder);
}

TEST(without_the_shared_index_of_the_log_nothing_is_lost)
{
    expect_nothing_lost("main.db-shm");
}

TEST(without_the_lock_file_nothing_is_lost)
{
    expect_nothing_lost("main.db-lock");
}

/* What is only in the log is moved into the database by the process that has
 * it open. */
TEST(a_log_that_was_deleted_is_saved_by_the_process_that_has_it)
{
    struct place_on_disk place;
    begin(&place);
    EXPECT_INT(unlink(file_of(&place, "main.db-wal")), 0);
    set_json(place.n, "2");
    fixture_settle(&place.fixture);
    hd_cell_free(place.n);
    fixture_close(&place.fixture);
    fixture_open(&place.fixture, place.folder, 3);
    place.n = cell_of(&place.fixture, "n", NULL);
    expect_json(place.n, "2");
    end(&place);
}
