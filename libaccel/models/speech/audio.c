// SPDX-License-Identifier: MIT
/*
 * Samples of files and pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libaccel/core/errno_text.h"
#include "libaccel/core/fpmode.h"
#include "speech.h"

/* Frames that are read at a time */
#define PIECE		4096
#define RATE_MIN	1000
#define RATE_MAX	768000

/**
 * struct accel_audio - a file with sound
 * @file: of libsndfile
 * @info: what it says
 * @resample: to our rate, NULL: it has that
 * @frames: as read, of all channels
 * @mono: the mean of them
 * @at: first of @mono that was not taken
 * @count: of @mono
 * @ended: there is no more
 * @came: there was some
 */
struct accel_audio {
	SNDFILE *file;
	SF_INFO info;
	soxr_t resample;
	float *frames;
	float mono[PIECE];
	uint32_t at;
	uint32_t count;
	bool ended;
	bool came;
};

static int open_file(struct accel_audio *a, const char *path, struct accel_error *error)
{
	bool in = !strcmp(path, "-");
	int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return stored_fail(error, -errno, "%.200s: %s", path, errno_text(errno));
	a->file = sf_open_fd(fd, SFM_READ, &a->info, 1);
	/* It closes what it cannot open, too. */
	if (!a->file)
		return stored_fail(error, -EBADMSG, "%.200s: %.100s", path, sf_strerror(NULL));
	if (a->info.samplerate < RATE_MIN || a->info.samplerate > RATE_MAX)
		return stored_fail(error, -EOPNOTSUPP, "%.200s: %d samples a second", path,
				   a->info.samplerate);
	return 0;
}

int accel_audio_open(const char *path, struct accel_error *error, struct accel_audio **audio)
{
	FP_MODE_SCOPE();
	struct accel_error unheard;
	struct accel_audio *a;
	soxr_error_t wrong = NULL;
	int ret;

	if (!path || !audio)
		return -EINVAL;
	error = error ? error : &unheard;
	a = calloc(1, sizeof(*a));
	if (!a)
		return stored_fail(error, -ENOMEM, "out of memory");
	ret = open_file(a, path, error);
	if (ret)
		goto out;
	if (a->info.samplerate != ACCEL_SPEECH_RATE)
		a->resample = soxr_create(a->info.samplerate, ACCEL_SPEECH_RATE, 1, &wrong, NULL,
					  NULL, NULL);
	a->frames = calloc(PIECE, (size_t)a->info.channels * sizeof(*a->frames));
	if (wrong || !a->frames)
		ret = stored_fail(error, -ENOMEM, "out of memory");
out:
	if (ret)
		accel_audio_close(a);
	else
		*audio = a;
	return ret;
}

void accel_audio_close(struct accel_audio *audio)
{
	if (!audio)
		return;
	if (audio->file)
		sf_close(audio->file);
	soxr_delete(audio->resample);
	free(audio->frames);
	free(audio);
}

int accel_audio_get_info(const struct accel_audio *audio, struct accel_audio_info *info)
{
	if (!audio || !info || info->size < sizeof(*info))
		return -EINVAL;
	info->rate = (uint32_t)audio->info.samplerate;
	info->channels = (uint32_t)audio->info.channels;
	info->pad = 0;
	/* Of a pipe the header may say anything. */
	info->frames = audio->info.seekable && audio->info.frames > 0 ?
		       (uint64_t)audio->info.frames : 0;
	return 0;
}

/* The next frames, as the mean of their channels */
static int fill(struct accel_audio *a)
{
	const int channels = a->info.channels;
	sf_count_t n = sf_readf_float(a->file, a->frames, PIECE), i;
	float sum;
	int c;

	a->at = 0;
	a->count = 0;
	a->ended = n <= 0;
	/* Of a file that is cut amid what is packed, all that can be unpacked has come. */
	if (n < 0 || (!n && sf_error(a->file) && (!a->came || sf_error(a->file) == SF_ERR_SYSTEM)))
		return -EIO;
	a->came = true;
	if (!features_sound(a->frames, (size_t)n * (size_t)channels))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		for (c = 0, sum = 0; c < channels; c++)
			sum += a->frames[i * channels + c];
		a->mono[i] = sum / (float)channels;
	}
	a->count = (uint32_t)n;
	return 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int accel_audio_read(struct accel_audio *audio, float *samples, uint32_t max, uint32_t *count)
{
	FP_MODE_SCOPE();
	size_t took, gave = 0;
	int ret;

	if (!audio || !samples || !max || !count)
		return -EINVAL;
	for (*count = 0; !*count;) {
		if (audio->at == audio->count && !audio->ended) {
			ret = fill(audio);
			if (ret)
				return ret;
		}
		if (!audio->resample) {
			*count = least(max, audio->count - audio->at);
			memcpy(samples, audio->mono + audio->at, *count * sizeof(*samples));
			audio->at += *count;
			if (audio->ended)
				return 0;
			continue;
		}
		/* NULL: there is no more, and what is left in it comes out. */
		took = 0;
		if (soxr_process(audio->resample, audio->ended ? NULL : audio->mono + audio->at,
				 audio->count - audio->at, &took, samples, max, &gave))
			return -ENOMEM;
		audio->at += (uint32_t)took;
		*count = (uint32_t)gave;
		if (audio->ended)
			return 0;
	}
	return 0;
}
