/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the search for a program, and of what is said of those that can't be a template. */
#include "fpm/process/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Below it: "a b" with not executable, a folder and "both"; "c" with "good" and "both". */
static char folder[64];
static char *old_path;

static const char *at(const char *name)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *name, const void *content, size_t size, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, content, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static int setup(void **state)
{
	const char *path = getenv("PATH");

	(void)state;
	old_path = path ? strdup(path) : NULL;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	if (!mkdtemp(folder) || mkdir(at("a b"), 0700) == -1 || mkdir(at("c"), 0700) == -1 ||
	    mkdir(at("a b/folder"), 0700) == -1)
		return -1;
	make_file("a b/plain", "", 0, 0644);
	make_file("a b/both", "", 0, 0644);
	make_file("c/both", "", 0, 0755);
	make_file("c/good", "", 0, 0755);
	return 0;
}

static int teardown(void **state)
{
	static const char *const files[] = {"a b/plain", "a b/both", "c/both", "c/good", "file"};
	static const char *const folders[] = {"a b/folder", "a b", "c", ""};
	int result = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		(void)unlink(at(files[i]));
	for (size_t i = 0; i < COUNT(folders); i++)
		result |= rmdir(at(folders[i]));
	if (old_path)
		(void)setenv("PATH", old_path, 1);
	free(old_path);
	return result;
}

/* @expected is relative to the folder; NULL means that @error is expected. */
static void check_find(const char *name, const char *expected, int error)
{
	char *found;

	errno = 0;
	found = program_find(name);
	if (expected) {
		assert_non_null(found);
		assert_string_equal(found, at(expected));
	} else {
		assert_null(found);
		assert_int_equal(errno, error);
	}
	free(found);
}

static void test_path_is_searched(void **state)
{
	static const struct {
		const char *name;
		const char *expected;
		int error;
	} cases[] = {
		{"good", "c/good", 0},	  {"both", "c/both", 0},     {"plain", NULL, EACCES},
		{"folder", NULL, EACCES}, {"nowhere", NULL, ENOENT}, {"", NULL, EACCES},
	};
	char *path = NULL;

	(void)state;
	assert_int_not_equal(asprintf(&path, "/nowhere:%s/a b:%s/c", folder, folder), -1);
	assert_int_equal(setenv("PATH", path, 1), 0);
	for (size_t i = 0; i < COUNT(cases); i++)
		check_find(cases[i].name, cases[i].expected, cases[i].error);
	free(path);
}

static void test_name_with_a_slash_is_not_searched(void **state)
{
	char good[PATH_MAX], plain[PATH_MAX];

	(void)state;
	(void)snprintf(good, sizeof(good), "%s/c/good", folder);
	(void)snprintf(plain, sizeof(plain), "%s/a b/plain", folder);
	assert_int_equal(setenv("PATH", at("c"), 1), 0);
	check_find(good, "c/good", 0);
	check_find(plain, NULL, EACCES);
	check_find(at("c"), NULL, EACCES);
	check_find(at("nowhere"), NULL, ENOENT);
	check_find("./good", NULL, ENOENT);
	check_find("c/good", NULL, ENOENT);
}

static void test_empty_entry_is_the_working_folder(void **state)
{
	char cwd[PATH_MAX];
	char *found;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(at("c")), 0);
	assert_int_equal(setenv("PATH", ":/nowhere", 1), 0);
	found = program_find("good");
	assert_int_equal(chdir(cwd), 0);
	assert_non_null(found);
	assert_string_equal(found, "./good");
	free(found);
}

static void test_without_path(void **state)
{
	char *found;

	(void)state;
	assert_int_equal(unsetenv("PATH"), 0);
	found = program_find("sh");
	assert_non_null(found);
	free(found);
	assert_int_equal(setenv("PATH", "", 1), 0);
	check_find("sh", NULL, ENOENT);
}

static void check_problem(const char *word)
{
	const char *problem = program_template_problem(at("file"));

	if (!word) {
		assert_null(problem);
		return;
	}
	assert_non_null(problem);
	assert_non_null(strstr(problem, word));
}

static void test_modes(void **state)
{
	static const struct {
		mode_t mode;
		const char *word;
	} cases[] = {
		{0755, NULL},	    {0644, NULL},	{04755, "set-uid"},
		{02755, "set-gid"}, {06755, "set-uid"}, {01755, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		make_file("file", "#!/bin/sh\n", 10, cases[i].mode);
		check_problem(cases[i].word);
	}
	assert_null(program_template_problem(at("nowhere")));
}

struct elf_file {
	Elf64_Ehdr head;
	char gap[8]; /* the program headers need not follow at once */
	Elf64_Phdr segments[2];
};

static void test_statically_linked(void **state)
{
	static const struct {
		uint32_t types[2];
		unsigned char class;
		const char *word;
	} cases[] = {
		{{PT_LOAD, PT_LOAD}, ELFCLASS64, "static"},
		{{PT_LOAD, PT_DYNAMIC}, ELFCLASS64, "static"},
		{{PT_INTERP, PT_LOAD}, ELFCLASS64, NULL},
		{{PT_LOAD, PT_INTERP}, ELFCLASS64, NULL},
		{{PT_LOAD, PT_LOAD}, ELFCLASS32, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct elf_file file = {
			.head = {.e_phoff = offsetof(struct elf_file, segments),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2},
			.segments = {{.p_type = cases[i].types[0]}, {.p_type = cases[i].types[1]}}};

		memcpy(file.head.e_ident, ELFMAG, SELFMAG);
		file.head.e_ident[EI_CLASS] = cases[i].class;
		make_file("file", &file, sizeof(file), 0755);
		check_problem(cases[i].word);
		/* Cut short, nothing can be said of it. */
		make_file("file", &file, sizeof(file.head) + 4, 0755);
		check_problem(NULL);
		make_file("file", &file, sizeof(file.head) - 1, 0755);
		check_problem(NULL);
	}
	make_file("file", "", 0, 0755);
	check_problem(NULL);
}

static void test_real_programs(void **state)
{
	(void)state;
	assert_null(program_template_problem("/bin/sh"));
	assert_null(program_template_problem("/proc/self/exe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_is_searched),
		cmocka_unit_test(test_name_with_a_slash_is_not_searched),
		cmocka_unit_test(test_empty_entry_is_the_working_folder),
		cmocka_unit_test(test_without_path),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_statically_linked),
		cmocka_unit_test(test_real_programs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
