/* Status codes: the public list is the error table, in both directions. */

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "heddle/heddle.h"
#include "lib/test.h"

static const struct {
    hd_status status;
    int number;
    const char *name;
    enum err_class class;
    const char *text;
} rows[] = {
#define X(name, number, class, text) \
    {HD_##name, number, #name, ERR_CLASS_##class, text},
    ERR_TABLE(X)
#undef X
};

/* Public code that names every status it knows: does not compile, for want of
 * a case, if the header has one that the table lacks. */
static bool is_in_table(hd_status status)
{
    switch (status) {
#define X(name, number, class, text) case HD_##name:
        ERR_TABLE(X)
#undef X
        return true;
    }
    return false;
}

TEST(every_row_has_a_status_of_its_number_name_class_and_text)
{
    EXPECT(COUNT_OF(rows) > 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_INT(rows[i].status, rows[i].number);
        EXPECT_TEXT(hd_status_name(rows[i].status), rows[i].name);
        EXPECT_TEXT(hd_status_text(rows[i].status), rows[i].text);
        EXPECT_INT(hd_status_class(rows[i].status), rows[i].class);
    }
}

TEST(every_other_number_is_unknown_and_a_fault)
{
    unsigned known = 0;
    for (int number = -1000; number < 1000; number++) {
        const hd_status status = (hd_status)number;
        const bool unknown = strcmp(hd_status_name(status), "unknown") == 0;
        EXPECT(unknown != is_in_table(status));
        known += !unknown;
        if (unknown) {
            EXPECT_INT(hd_status_class(status), HD_CLASS_FAULT);
            EXPECT(strlen(hd_status_text(status)) > 0);
        }
    }
    EXPECT_EQ(known, COUNT_OF(rows));
}

TEST(success_is_zero_and_has_no_class)
{
    EXPECT_INT(HD_OK, 0);
    EXPECT_TEXT(hd_status_name(HD_OK), "OK");
    EXPECT_INT(hd_status_class(HD_OK), HD_CLASS_NONE);
}

TEST(the_version_is_that_of_the_header)
{
    char text[32];
    (void)snprintf(text,
                   sizeof text,
                   "%d.%d.%d",
                   HD_VERSION_MAJOR,
                   HD_VERSION_MINOR,
                   HD_VERSION_PATCH);
    EXPECT_TEXT(hd_version(), text);
    EXPECT_TEXT(hd_version(), HD_VERSION_TEXT);
}
