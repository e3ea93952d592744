// SPDX-License-Identifier: MIT
/*
 * Harness for files with sound: libFuzzer's entry point. What is opened is read to its end, or
 * for a million samples: they are all numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <accel/speech.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct accel_audio_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_audio *audio;
	static float samples[1000];
	int fd = memfd_create("sound", MFD_CLOEXEC);
	uint32_t i, k, count = 1;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!accel_audio_open(path, &e, &audio)) {
		if (accel_audio_get_info(audio, &info) || !info.channels || !info.rate)
			abort();
		for (i = 0; i < 1000 && count; i++) {
			if (accel_audio_read(audio, samples, 1000, &count))
				break;
			for (k = 0; k < count; k++)
				if (!isfinite(samples[k]))
					abort();
		}
		accel_audio_close(audio);
	} else if (!e.code || !e.text[0]) {
		/* What is refused says why. */
		abort();
	}
	close(fd);
	return 0;
}
