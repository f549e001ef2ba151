"""Trained models that Python packages carry: speech detection by Silero, and reading text
by PaddleOCR. The packages are installed without what they depend on, and never imported.
"""

import importlib.util
import wave
from pathlib import Path

import numpy as np


def package_file(package, name):
    folder = importlib.util.find_spec(package).submodule_search_locations[0]
    return Path(folder) / name


def packaged(package, name):
    """A generator of a model that copies a package's file."""
    def make(path):
        path.write_bytes(package_file(package, name).read_bytes())
    return make


# ---- Silero VAD ------------------------------------------------------------

CHUNKS = 50


def speech(rate):
    """A recording of a man's voice, 10 s at 16 kHz, in [-1, 1]."""
    with wave.open(str(package_file("moonshine_onnx", "assets/beckett.wav"))) as recording:
        if (recording.getframerate(), recording.getnchannels(), recording.getsampwidth()) != (
                16000, 1, 2):
            raise ValueError("expected a recording of 16 kHz, one channel and 16 bits")
        samples = np.frombuffer(recording.readframes(recording.getnframes()), np.int16) / 32768
    if rate == 16000:
        return samples
    # A windowed sinc that cuts at a quarter of the rate, then every other sample.
    taps = np.arange(-32, 33)
    return np.convolve(samples, np.sinc(taps / 2) / 2 * np.hanning(65), "same")[::2]


def chunks(rate):
    """What Silero's own wrapper feeds: 32 ms of sound after the last 4 ms of the chunk before."""
    length, context = rate * 32 // 1000, rate * 4 // 1000
    samples = np.concatenate([np.zeros(context), speech(rate)])
    for chunk in range(CHUNKS):
        start = chunk * length
        yield samples[start:start + context + length][None]


SILERO_CARRIED = {"stateN": "state"}


def silero_steps(rates=(16000, 8000), has_rate=True):
    """The state is carried from chunk to chunk, and starts anew with each rate."""
    def steps(rng):
        for rate in rates:
            for index, chunk in enumerate(chunks(rate)):
                feed = {"input": chunk}
                if has_rate:
                    feed["sr"] = rate
                if index == 0:
                    feed["state"] = np.zeros((2, 1, 128))
                yield feed
    return steps


def silero_sample(rates=(16000, 8000), has_rate=True):
    def sample(rng):
        """Some chunks of the recording, side by side as a batch."""
        rate, batch = rng.choice(rates), rng.integers(1, 5)
        every = list(chunks(rate))
        feed = {"input": np.concatenate([every[i] for i in rng.integers(0, CHUNKS, batch)]),
                "state": 0.3 * rng.standard_normal((2, batch, 128))}
        return feed | ({"sr": rate} if has_rate else {})
    return sample


def silero_sequence_steps(rng):
    """Many chunks at once, as a sequence for the LSTM."""
    every = np.concatenate(list(chunks(16000)))
    for start, end in [(0, 1), (1, 20), (20, 50)]:
        feed = {"input": every[start:end]}
        if start == 0:
            feed |= {name: np.zeros((1, 1, 128)) for name in "hc"}
        yield feed


# ---- PaddleOCR -------------------------------------------------------------


def page(rng, height, width):
    """Lines of signs made of strokes, dark on bright paper in [-1, 1], [3, height, width]: the
    detector takes them for writing."""
    image = np.full((height, width), 1.0)
    tall = 16 if height > 48 else 28
    wide, pen = tall * 5 // 8, tall // 8
    for top in range(tall // 2, height - tall, tall * 7 // 4):
        for left in range(tall // 2, width - wide, wide * 5 // 4):
            for _ in range(rng.integers(0, 5)):
                at = rng.integers(3)  # at the one side, in the middle, at the other side
                if rng.integers(2):
                    x = left + at * (wide - pen) // 2
                    image[top:top + tall, x:x + pen] = -1
                else:
                    y = top + at * (tall - pen) // 2
                    image[y:y + pen, left:left + wide] = -1
    image += 0.1 * rng.standard_normal((height, width))
    return np.repeat(image.clip(-1, 1)[None], 3, axis=0)


def page_feed(rng, batch, rows, columns, unit=1):
    return {"x": np.stack([page(rng, rows * unit, columns * unit) for _ in range(batch)])}


def detector_page_feed(rng, batch, rows, columns):
    """The detector wants multiples of 32."""
    return page_feed(rng, batch, rows, columns, unit=32)
