#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""joined.py OUT.wav CLIP.wav...: clips of speech with silence before, between and behind them; where there is speech.

Each line that is written is the begin and the end of a clip's speech in seconds: the first and the last 10 ms that are louder
than a hundredth of its loudest.
"""

import math
import struct
import sys
import wave

RATE = 16000
STEP = RATE // 100


def main():
    out = [0] * RATE
    for at, path in enumerate(sys.argv[2:]):
        with wave.open(path) as clip:
            assert clip.getframerate() == RATE and clip.getnchannels() == 1 and clip.getsampwidth() == 2
            samples = struct.unpack('<%dh' % clip.getnframes(), clip.readframes(clip.getnframes()))
        loud = [math.sqrt(sum(x * x for x in samples[i:i + STEP])) for i in range(0, len(samples), STEP)]
        on = [i for i, x in enumerate(loud) if x > max(loud) / 100]
        print('%.3f %.3f' % (len(out) / RATE + on[0] / 100, len(out) / RATE + (on[-1] + 1) / 100))
        out += samples
        out += [0] * (RATE // 2 + at % 3 * 5000 + at * 37)
    with wave.open(sys.argv[1], 'wb') as wav:
        wav.setparams((1, 2, RATE, len(out), 'NONE', ''))
        wav.writeframes(struct.pack('<%dh' % len(out), *out))


main()
