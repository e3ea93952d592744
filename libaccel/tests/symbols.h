/* SPDX-License-Identifier: MIT */
/*
 * The functions that a library exports, from its own table of symbols.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing is passed to a function in any other way than these are. */
typedef uintptr_t fn_t(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
		       uintptr_t, uintptr_t);

/**
 * each_symbol - call back for each function that a library exports
 * @of: a function of the library
 * @fn: takes the name, which begins with "accel_", and the function
 *
 * Return: how many there are.
 */
static inline uint32_t each_symbol(void *of, void (*fn)(const char *name, fn_t *symbol))
{
	const Elf64_Ehdr *elf;
	const Elf64_Shdr *s;
	const Elf64_Sym *sym;
	const char *names;
	uint32_t i, count = 0;
	struct stat st;
	Dl_info info;
	size_t j;
	int fd;

	assert_true(dladdr(of, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(elf != MAP_FAILED);
	s = (const Elf64_Shdr *)((const char *)elf + elf->e_shoff);
	for (i = 0; i < elf->e_shnum; i++) {
		if (s[i].sh_type != SHT_DYNSYM)
			continue;
		sym = (const Elf64_Sym *)((const char *)elf + s[i].sh_offset);
		names = (const char *)elf + s[s[i].sh_link].sh_offset;
		for (j = 0; j < s[i].sh_size / sizeof(*sym); j++) {
			const char *name = names + sym[j].st_name;

			if (sym[j].st_shndx == SHN_UNDEF || strncmp(name, "accel_", 6) != 0)
				continue;
			fn(name, (fn_t *)((uintptr_t)info.dli_fbase + sym[j].st_value));
			count++;
		}
	}
	munmap((void *)(uintptr_t)elf, (size_t)st.st_size);
	close(fd);
	return count;
}

#endif
