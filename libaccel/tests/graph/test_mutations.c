// SPDX-License-Identifier: MIT
/*
 * Files that others wrote, changed at random, the same way each time: GGUF, safetensors,
 * tokenizer.json, templates of conversations and WAV. The harnesses are those of libFuzzer
 * (make fuzz-store, fuzz-text, fuzz-sound), which say what must hold; sanitizers say the rest.
 */
#include <time.h>
#include "graphtest.h"
#include "libaccel/tests/data.h"

/* They are built with another name for the entry, and nowhere else with these options. */
/* NOLINTBEGIN(bugprone-suspicious-include) */
#define LLVMFuzzerTestOneInput fuzz_store
#include "libaccel/tests/fuzz_store.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_sound
#include "libaccel/tests/fuzz_sound.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_text
#include "libaccel/tests/text/fuzz_text.c"
#undef LLVMFuzzerTestOneInput
/* NOLINTEND(bugprone-suspicious-include) */

/* Seconds of each; together 20 where a sanitizer looks */
#if defined(__SANITIZE_ADDRESS__)
#define SECONDS	4
#else
#define SECONDS	1
#endif
#define MOST	4096

struct seed {
	uint8_t data[MOST];
	size_t size;
};

static void put(struct seed *s, const void *data, size_t size)
{
	assert_true(s->size + size <= MOST);
	memcpy(s->data + s->size, data, size);
	s->size += size;
}

static void put_u32(struct seed *s, uint32_t x)
{
	put(s, &x, sizeof(x));
}

static void put_u64(struct seed *s, uint64_t x)
{
	put(s, &x, sizeof(x));
}

static void put_string(struct seed *s, const char *text)
{
	put_u64(s, strlen(text));
	put(s, text, strlen(text));
}

static void put_file(struct seed *s, const char *path)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	s->size += fread(s->data + s->size, 1, 2000, f);
	fclose(f);
}

static uint32_t dice;

static uint32_t draw(uint32_t below)
{
	dice = dice * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)dice * below >> 32);
}

/* Bits, bytes and numbers that are set, pieces that are moved, and an end that is missing */
static void mutate(struct seed *s)
{
	static const uint64_t edges[] = {
		0, 1, 0x7f, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1ull << 63,
		UINT64_MAX
	};
	uint32_t n = 1 + draw(6), at, to, size;

	while (n-- && s->size > 8) {
		at = draw((uint32_t)s->size);
		size = 1u << draw(4);
		size = at + size <= s->size ? size : 1;
		to = draw((uint32_t)s->size - size + 1);
		switch (draw(6)) {
		case 0:
			s->data[at] ^= (uint8_t)(1u << draw(8));
			break;
		case 1:
			s->data[at] = (uint8_t)draw(256);
			break;
		case 2:
			memcpy(s->data + at, &edges[draw(10)], size);
			break;
		case 3:
			memmove(s->data + to, s->data + at, size);
			break;
		case 4:
			memmove(s->data + at, s->data + at + size, s->size - at - size);
			s->size -= size;
			break;
		default:
			s->size = draw(8) ? s->size : at;
		}
	}
}

static void run(const struct seed *seed, int (*fuzz)(const uint8_t *data, size_t size))
{
	const clock_t end = clock() + SECONDS * CLOCKS_PER_SEC;
	static struct seed s;
	uint8_t *exact;
	uint32_t rounds;

	fuzz(seed->data, seed->size);
	dice = 1;
	for (rounds = 0; clock() < end; rounds++) {
		s = *seed;
		mutate(&s);
		/* A copy of its size: what is read behind it shows. */
		exact = malloc(s.size + 1);
		assert_non_null(exact);
		memcpy(exact, s.data, s.size);
		fuzz(exact, s.size);
		free(exact);
	}
	print_message("%u rounds\n", rounds);
	assert_true(rounds > 10);
}

/* The seed itself is right: otherwise all of them would be refused at once. */
static void run_store(const struct seed *seed)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct store store;
	char path[64];
	int fd = memfd_create("seed", MFD_CLOEXEC);

	assert_int_equal(write(fd, seed->data, seed->size), seed->size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (stored_open(path, &store, &e))
		fail_msg("%s", e.text);
	assert_int_equal(store.count, 1);
	stored_close(&store);
	close(fd);
	run(seed, fuzz_store);
}

static void test_gguf(void **state)
{
	static struct seed s;
	static const float data[8] = { 1, 2, 3 };

	(void)state;
	put(&s, "GGUF", 4);
	put_u32(&s, 3);
	put_u64(&s, 1);
	put_u64(&s, 3);
	put_string(&s, "general.name");
	put_u32(&s, 8);
	put_string(&s, "seed");
	put_string(&s, "a.count");
	put_u32(&s, 4);
	put_u32(&s, 7);
	put_string(&s, "a.list");
	put_u32(&s, 9);
	put_u32(&s, 8);
	put_u64(&s, 2);
	put_string(&s, "x");
	put_string(&s, "yz");
	put_string(&s, "w");
	put_u32(&s, 2);
	put_u64(&s, 4);
	put_u64(&s, 2);
	put_u32(&s, 0);
	put_u64(&s, 0);
	s.size = (s.size + 31) / 32 * 32;
	put(&s, data, sizeof(data));
	run_store(&s);
}

static void test_safetensors(void **state)
{
	static const char head[] =
		"{\"__metadata__\":{\"a\":\"b\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,4],\n"
		"\"data_offsets\":[0,32]}}";
	static const float data[8] = { 1, 2, 3 };
	static struct seed s;

	(void)state;
	put_string(&s, head);
	put(&s, data, sizeof(data));
	run_store(&s);
}

static void test_tokenizer(void **state)
{
	static const char json[] =
		"{\"added_tokens\":[{\"id\":5,\"content\":\"<s>\",\"special\":true}],\n"
		"\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"ByteLevel\",\n"
		"\"add_prefix_space\":false},\"decoder\":{\"type\":\"Sequence\",\n"
		"\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},\n"
		"\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},\n"
		"{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0},\n"
		"{\"type\":\"ByteLevel\"}]},\n"
		"\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\n"
		"\"abc\":4},\"merges\":[\"a b\",\"ab c\"]}}";
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_tokenizer *t;
	static struct seed s;

	(void)state;
	if (accel_tokenizer_parse(json, strlen(json), &e, &t))
		fail_msg("%s", e.text);
	accel_tokenizer_close(t);
	put(&s, json, sizeof(json));
	put(&s, "abcab <s> \xc3\xa9 c", 14);
	run(&s, fuzz_text);
}

static void test_template(void **state)
{
	static const char text[] =
		"{%- for m in messages if m.role != 'x' %}{{ '<' ~ m['role'] ~ '>' +\n"
		"m.content | trim }}{%- if loop.last and add_generation_prompt %}{{\n"
		"bos_token }}{% endif %}{% endfor %}{% set n = namespace(i=0) %}{{\n"
		"tools[0].name[:2] | upper }}";
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_chat_template *t;
	static struct seed s;

	(void)state;
	if (accel_chat_template_parse(text, strlen(text), &e, &t))
		fail_msg("%s", e.text);
	accel_chat_template_destroy(t);
	put(&s, text, sizeof(text));
	put(&s, "[{\"role\":\"user\",\"content\":\" a\"}]", 33);
	run(&s, fuzz_text);
}

static void test_wav(void **state)
{
	struct accel_audio *a;
	static struct seed s;

	(void)state;
	assert_int_equal(accel_audio_open(SPEECH "/clip10.wav", NULL, &a), 0);
	accel_audio_close(a);
	put_file(&s, SPEECH "/clip10.wav");
	run(&s, fuzz_sound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gguf),
		cmocka_unit_test(test_safetensors),
		cmocka_unit_test(test_tokenizer),
		cmocka_unit_test(test_template),
		cmocka_unit_test(test_wav),
	};

	return cmocka_run_group_tests_name("mutations", tests, NULL, NULL);
}
