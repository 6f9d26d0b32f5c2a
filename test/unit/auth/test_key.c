/* Keys: names, signatures, files, base64url. */

#include "auth/key.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/base58.h"
#include "auth/capability.h"
#include "lib/store_kit.h"
#include "lib/test.h"

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

static struct key key_of(unsigned char number)
{
    unsigned char seed[KEY_SEED_BYTES] = {0};
    struct key key;
    seed[KEY_SEED_BYTES - 1] = number;
    key_of_seed(seed, &key);
    return key;
}

/* -- Names --------------------------------------------------------------- */

TEST(the_name_of_a_key_is_that_of_the_did_key_specification)
{
    /* The first vector there: a seed of zeros. */
    const struct key key = key_of(0);
    char name[KEY_NAME_LENGTH + 1];
    key_name_write(&key.public_key, name);
    EXPECT_TEXT(name,
                "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp");
}

PROPERTY(key_1_a_name_reads_back_and_every_other_text_is_refused, 200)
{
    struct public_key key;
    struct public_key again;
    char name[KEY_NAME_LENGTH + 1];
    for (size_t i = 0; i < sizeof key.bytes; i++) {
        key.bytes[i] = (unsigned char)random_u64(random);
    }
    if (random_one_in(random, 4)) {
        memset(key.bytes, random_one_in(random, 2) ? 0 : 0xFF, 32);
    }
    key_name_write(&key, name);
    EXPECT_EQ(strlen(name), KEY_NAME_LENGTH);
    EXPECT(strncmp(name, "did:key:z6Mk", 12) == 0);
    EXPECT(key_name_read(text_of(name), &again));
    EXPECT(memcmp(&key, &again, sizeof key) == 0);
    /* Another character makes another key, or none. */
    const size_t at = random_below(random, KEY_NAME_LENGTH);
    const char was = name[at];
    name[at] = (char)random_below(random, 128);
    if (key_name_read((struct text){name, KEY_NAME_LENGTH}, &again)) {
        char written[KEY_NAME_LENGTH + 1];
        key_name_write(&again, written);
        EXPECT_TEXT(written, name);
        EXPECT((name[at] == was) == (memcmp(&key, &again, sizeof key) == 0));
    }
}

TEST(names_that_are_not_names)
{
    static const char *const texts[] = {
        "",
        "did:key:",
        "did:key:z",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooW",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWpp",
        "DID:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
        "did:key:Z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
        /* 0, O, I and l are no digits. */
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDoo0p",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooOp",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooIp",
        "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDoolp",
        /* More than 34 bytes. */
        "did:key:zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        /* An X25519 key. */
        "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc",
        " did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooW",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct public_key key;
        if (!EXPECT(!key_name_read(text_of(texts[i]), &key))) {
            test_fail(__FILE__, __LINE__, "%s", texts[i]);
        }
    }
}

TEST(principals_have_names_without_control_characters)
{
    struct err_detail detail;
    char longest[PRINCIPAL_BYTES_MAX + 2];
    memset(longest, 'x', sizeof longest);
    EXPECT_EQ(principal_check(text_of("ann@example.com"), NULL), ERR_OK);
    EXPECT_EQ(
        principal_check((struct text){longest, PRINCIPAL_BYTES_MAX}, NULL),
        ERR_OK);
    EXPECT_EQ(
        principal_check((struct text){longest, PRINCIPAL_BYTES_MAX + 1}, NULL),
        ERR_ARGUMENT);
    EXPECT_EQ(principal_check(text_of(""), NULL), ERR_ARGUMENT);
    EXPECT_EQ(principal_check(text_of("a\nb"), NULL), ERR_ARGUMENT);
    EXPECT_EQ(principal_check((struct text){"a\0b", 3}, NULL), ERR_ARGUMENT);
    EXPECT_EQ(principal_check(text_of("\xFF"), NULL), ERR_ARGUMENT);
    EXPECT_EQ(principal_check(text_of("*"), &detail), ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "all principals");
}

/* -- Signatures ---------------------------------------------------------- */

TEST(a_signature_is_that_of_rfc_8037)
{
    struct buf seed = {0};
    struct buf text = {0};
    struct key key;
    unsigned char signature[KEY_SIGNATURE_BYTES];
    static const char content[] =
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    EXPECT(
        base64url_read(&seed,
                       text_of("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")));
    EXPECT_EQ(seed.length, KEY_SEED_BYTES);
    key_of_seed((const unsigned char *)seed.at, &key);
    key_sign(&key, content, strlen(content), signature);
    base64url_write(&text, signature, sizeof signature);
    EXPECT_TEXT(buf_text(&text),
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGj"
                "g5BhVsPt9g7sVvpAr_MuM0KAg");
    EXPECT(key_verify(&key.public_key, content, strlen(content), signature));
    signature[5] ^= 1;
    EXPECT(!key_verify(&key.public_key, content, strlen(content), signature));
    key_release(&key);
    static const struct key cleared = {0};
    EXPECT(memcmp(&key, &cleared, sizeof key) == 0);
    buf_release(&seed);
    buf_release(&text);
}

TEST(a_key_of_small_order_verifies_nothing)
{
    /* The neutral element with s = 0 verifies every message by the formula. */
    const struct public_key key = {{1}};
    const unsigned char signature[KEY_SIGNATURE_BYTES] = {1};
    EXPECT(!key_verify(&key, "any", 3, signature));
}

/* -- base64url ----------------------------------------------------------- */

PROPERTY(base64url_reads_back_what_it_wrote, 200)
{
    unsigned char bytes[70];
    struct buf text = {0};
    struct buf again = {0};
    const size_t length = random_below(random, sizeof bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (unsigned char)random_u64(random);
    }
    base64url_write(&text, bytes, length);
    EXPECT_EQ(text.length, (length * 4 + 2) / 3);
    EXPECT(base64url_read(&again, (struct text){buf_text(&text), text.length}));
    EXPECT_EQ(again.length, length);
    EXPECT(length == 0 || memcmp(again.at, bytes, length) == 0);
    buf_release(&text);
    buf_release(&again);
}

TEST(base64url_has_one_text_for_each_content)
{
    static const char *const texts[] = {
        "A",
        "AB",
        "AAB",
        "AA=",
        "AA==",
        "AAA=",
        "A A",
        "AA\n",
        "A+",
        "A/",
        "AAAAA",
        "\xC3\xA4",
        "AA.AA",
        "=",
        "AAA\x80",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct buf to = {0};
        buf_append_text(&to, "kept");
        if (!EXPECT(!base64url_read(&to, text_of(texts[i])))) {
            test_fail(__FILE__, __LINE__, "'%s'", texts[i]);
        }
        EXPECT_TEXT(buf_text(&to), "kept");
        buf_release(&to);
    }
}

/* -- Files --------------------------------------------------------------- */

struct folder {
    char path[256];
    char file[264];
};

static void folder_begin(struct folder *folder)
{
    kit_folder_new(folder->path, sizeof folder->path);
    (void)snprintf(folder->file, sizeof folder->file, "%s/key", folder->path);
}

/* Fails if anything but the key is left. */
static void folder_end(struct folder *folder)
{
    (void)unlink(folder->file);
    EXPECT_INT(rmdir(folder->path), 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    EXPECT(fd >= 0);
    EXPECT_INT(write(fd, text, strlen(text)), (int64_t)strlen(text));
    EXPECT_INT(fchmod(fd, mode), 0);
    (void)close(fd);
}

TEST(a_key_file_is_private_and_reads_back)
{
    struct folder folder;
    struct key key;
    struct key again;
    struct stat about;
    struct err_detail detail = {0};
    folder_begin(&folder);
    EXPECT_EQ(key_make(&key, &detail), ERR_OK);
    const mode_t mask = umask(0);
    EXPECT_EQ(key_file_write(folder.file, &key, false, &detail), ERR_OK);
    (void)umask(mask);
    EXPECT_INT(stat(folder.file, &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600);
    EXPECT_EQ(key_file_read(folder.file, &again, &detail), ERR_OK);
    EXPECT(memcmp(&key, &again, sizeof key) == 0);
    folder_end(&folder);
}

TEST(key_2_a_file_that_others_can_access_is_refused)
{
    static const mode_t modes[] = {0604, 0640, 0610, 0602, 0644, 0660};
    struct folder folder;
    const struct key key = key_of(1);
    folder_begin(&folder);
    EXPECT_EQ(key_file_write(folder.file, &key, false, NULL), ERR_OK);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct key again;
        struct err_detail detail = {0};
        EXPECT_INT(chmod(folder.file, modes[i]), 0);
        EXPECT_EQ(key_file_read(folder.file, &again, &detail), ERR_ACCESS);
        EXPECT_CONTAINS(detail.text, "chmod 600");
    }
    EXPECT_INT(chmod(folder.file, 0400), 0);
    struct key again;
    EXPECT_EQ(key_file_read(folder.file, &again, NULL), ERR_OK);
    folder_end(&folder);
}

TEST(key_3_a_key_is_not_overwritten_by_accident)
{
    struct folder folder;
    struct key again;
    struct err_detail detail = {0};
    const struct key first = key_of(1);
    const struct key second = key_of(2);
    folder_begin(&folder);
    EXPECT_EQ(key_file_write(folder.file, &first, false, &detail), ERR_OK);
    EXPECT_EQ(key_file_write(folder.file, &second, false, &detail), ERR_MISUSE);
    EXPECT_CONTAINS(detail.text, "already a key");
    EXPECT_EQ(key_file_read(folder.file, &again, NULL), ERR_OK);
    EXPECT(memcmp(&first, &again, sizeof again) == 0);
    EXPECT_EQ(key_file_write(folder.file, &second, true, &detail), ERR_OK);
    EXPECT_EQ(key_file_read(folder.file, &again, NULL), ERR_OK);
    EXPECT(memcmp(&second, &again, sizeof again) == 0);
    folder_end(&folder);
}

TEST(files_that_are_not_keys)
{
    static const char *const texts[] = {
        "",
        "heddle-key-1",
        "heddle-key-1 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2",
        "heddle-key-2 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\n",
        "heddle-key-1 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2B\n",
        "heddle-key-1 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\n\n",
        "heddle-key-1 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2Ax",
        "heddle-key-1  WGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\n",
        "-----BEGIN PRIVATE KEY-----\n",
    };
    struct folder folder;
    struct key key;
    struct err_detail detail = {0};
    folder_begin(&folder);
    EXPECT_EQ(key_file_read(folder.file, &key, &detail), ERR_NOT_FOUND);
    EXPECT_CONTAINS(detail.text, "heddle key new");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        write_file(folder.file, texts[i], 0600);
        if (!EXPECT_EQ(key_file_read(folder.file, &key, &detail), ERR_SYNTAX)) {
            test_fail(__FILE__, __LINE__, "'%s'", texts[i]);
        }
    }
    write_file(folder.file,
               "heddle-key-1 nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
               0600);
    EXPECT_EQ(key_file_read(folder.file, &key, &detail), ERR_OK);
    EXPECT_EQ(key_file_read(folder.path, &key, &detail), ERR_SYNTAX);
    EXPECT_CONTAINS(detail.text, "not a regular file");
    EXPECT_EQ(key_file_write("missing-folder/key", &key, false, &detail),
              ERR_IO);
    folder_end(&folder);
}

TEST(a_pipe_is_refused_without_waiting)
{
    struct folder folder;
    struct key key;
    struct err_detail detail = {0};
    folder_begin(&folder);
    EXPECT_INT(mkfifo(folder.file, 0600), 0);
    EXPECT_EQ(key_file_read(folder.file, &key, &detail), ERR_SYNTAX);
    folder_end(&folder);
}
