// SPDX-License-Identifier: MIT
/*
 * Log-mel features, as Whisper has them: the spectrum of 400 samples each 160, the samples at both
 * ends mirrored; sums of it over bands of the mel scale, which is linear up to 1000 Hz and
 * logarithmic above (M. Slaney, "Auditory Toolbox", 1998), each band of the same area; logarithms
 * of these, at most 8 below the largest.
 */
#include <errno.h>
#include <kissfft/kiss_fftr.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "speech.h"

#define PI	3.14159265358979323846
#define HALF	(FEATURES_FFT / 2)
/* Of a band: its logarithm is -10. */
#define LEAST	0.0000000001

static double frequency(double mel)
{
	return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

/* Triangles over frequencies, between which lie as many steps of the mel scale */
static void make_bands(struct features *f)
{
	const double most = 15 + 27 * log(ACCEL_SPEECH_RATE / 2.0 / 1000) / log(6.4);
	double low, peak, high, at, up, down;
	struct band *band;
	uint32_t i, k;

	for (i = 0; i < f->mels; i++) {
		band = &f->bands[i];
		low = frequency(most * i / (f->mels + 1));
		peak = frequency(most * (i + 1) / (f->mels + 1));
		high = frequency(most * (i + 2) / (f->mels + 1));
		for (k = 0; k < FEATURES_BINS; k++) {
			at = (double)k * ACCEL_SPEECH_RATE / FEATURES_FFT;
			up = (at - low) / (peak - low);
			down = (high - at) / (high - peak);
			up = up < down ? up : down;
			if (up <= 0)
				continue;
			if (!band->count)
				band->first = k;
			band->weights[band->count++] = (float)(up * 2 / (high - low));
		}
	}
}

int features_create(struct features *f, uint32_t mels, uint32_t frames)
{
	uint32_t i;

	f->mels = mels;
	f->frames = frames;
	f->bands = calloc(mels, sizeof(*f->bands));
	f->fft = kiss_fftr_alloc(FEATURES_FFT, 0, NULL, NULL);
	if (!f->bands || !f->fft)
		return -ENOMEM;
	for (i = 0; i < FEATURES_FFT; i++)
		f->hann[i] = (float)(0.5 - 0.5 * cos(2 * PI * i / FEATURES_FFT));
	make_bands(f);
	return 0;
}

void features_destroy(struct features *f)
{
	kiss_fftr_free(f->fft);
	free(f->bands);
	*f = (struct features) { 0 };
}

bool features_sound(const float *samples, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!(fabsf(samples[i]) <= ACCEL_SPEECH_LOUDEST))
			return false;
	return true;
}

/* The samples of a frame whose middle is @middle, those beyond the ends of the window mirrored */
static void take_frame(const struct features *f, const float *samples, int64_t count,
		       int64_t middle, float *out)
{
	const int64_t all = (int64_t)f->frames * FEATURES_HOP;
	int64_t i, at;

	for (i = 0; i < FEATURES_FFT; i++) {
		at = middle - HALF + i;
		at = at < 0 ? -at : at;
		at = at >= all ? 2 * (all - 1) - at : at;
		out[i] = at >= 0 && at < count ? samples[at] * f->hann[i] : 0;
	}
}

void features_make(const struct features *f, const float *samples, size_t count, float *out)
{
	const size_t size = (size_t)f->mels * f->frames;
	float frame[FEATURES_FFT], power[FEATURES_BINS], most = -10;
	kiss_fft_cpx spectrum[FEATURES_BINS];
	double sum;
	uint32_t t, i, k;
	size_t n;

	for (t = 0; t < f->frames; t++) {
		take_frame(f, samples, (int64_t)count, (int64_t)t * FEATURES_HOP, frame);
		kiss_fftr(f->fft, frame, spectrum);
		for (k = 0; k < FEATURES_BINS; k++)
			power[k] = spectrum[k].r * spectrum[k].r + spectrum[k].i * spectrum[k].i;
		for (i = 0; i < f->mels; i++) {
			const struct band *band = &f->bands[i];

			for (k = 0, sum = 0; k < band->count; k++)
				sum += (double)(band->weights[k] * power[band->first + k]);
			sum = sum > LEAST ? sum : LEAST;
			out[(size_t)i * f->frames + t] = log10f((float)sum);
		}
	}
	for (n = 0; n < size; n++)
		most = out[n] > most ? out[n] : most;
	for (n = 0; n < size; n++)
		out[n] = ((out[n] > most - 8 ? out[n] : most - 8) + 4) / 4;
}
