/* json_reader.h: what the last run() printed, as JSON written without blanks, as the command does. */
#ifndef PROFK_TEST_JSON_READER_H
#define PROFK_TEST_JSON_READER_H

void assert_json(void); /* all of it is one value and a newline */

/* The text of a member of the object at `at`; its end in *end_ret. */
const char *find_member(const char *at, const char *key, const char **end_ret);
double member_number(const char *at, const char *key);

/* Member key of the object that was printed, as written. */
void assert_member(const char *key, const char *expected);

/* The keys of the object, in order, joined with commas. */
void assert_keys(const char *at, const char *expected);

#endif
