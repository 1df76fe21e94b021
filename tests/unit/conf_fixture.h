/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the configuration share: reading a text, and what is said of it. */
#ifndef CONF_FIXTURE_H
#define CONF_FIXTURE_H

#include "fpm/conf/conf.h"

/* The smallest pool: what follows it starts in line 4. */
#define POOL "[w]\nlisten = /run/t\npm.max_children = 2\n"

extern const struct conf_rules as_root;
extern const struct conf_rules as_allowed_root;
extern const struct conf_rules as_user;

/**
 * read_text() - read a text as a file named "f"
 * @text:	Text
 * @rules:	Rules
 * @ret_conf:	Set to what it means, NULL if it is refused
 *
 * Return: what was reported, a line each with 'E' or 'W' in front; to be freed
 */
char *read_text(const char *text, const struct conf_rules *rules, struct conf **ret_conf);

/**
 * read_good() - read a text that has to be accepted without a word
 * @text:	Text
 * @rules:	Rules
 *
 * Return: what it means
 */
struct conf *read_good(const char *text, const struct conf_rules *rules);

/**
 * check_said() - require that exactly this is reported of a text
 * @text:	Text
 * @rules:	Rules
 * @expected:	As read_text() returns it; the text has to be refused if there is an error in it
 */
void check_said(const char *text, const struct conf_rules *rules, const char *expected);

#endif
