"""Rows of Fourier transforms and what is used with them."""

import itertools

from operator_rows import row

# ---- Windows ---------------------------------------------------------------

for op, periodic in itertools.product(("HannWindow", "HammingWindow", "BlackmanWindow"), (0, 1)):
    row(op, "=[10.]", 17, periodic=periodic)
    row(op, "i32:[37.]", 17, periodic=periodic, output_datatype=11)

# ---- MelWeightMatrix -------------------------------------------------------

for words in ("=[8.] =[16.] =[8192.] =f32:[0.] =f32:[4096.]", "=[40.] =[512.] =[16000.] =f32:[20.] =f32:[7600.]",
              "[20.] [256.] [8000.] f32:[0.] f32:[4000.]"):
    row("MelWeightMatrix", words, 17)
row("MelWeightMatrix", "=i32:[8.] =i32:[64.] =i32:[8192.] =f32:[0.] =f32:[4096.]", 17,
    output_datatype=11)

# ---- DFT -------------------------------------------------------------------

# Lengths that are one product, that are split once and twice, whose factors are primes
# and large primes.
LENGTHS = (1, 2, 5, 16, 64, 60, 90, 128, 67, 134, 521, 1042)
for length, parts in itertools.product(LENGTHS, (1, 2)):
    row("DFT", f"2x{length}x{parts}", 20)
    row("DFT", f"2x{length}x{parts}", 20, inverse=1)
for length in LENGTHS:
    row("DFT", f"2x{length}x1", 20, onesided=1)
for length in (2, 9, 33, 129):
    row("DFT", f"2x{length}x2", 20, inverse=1, onesided=1)
    row("DFT", f"2x{length}x2 =[{2 * length - 1}.]", 20, inverse=1, onesided=1)
for length in (8, 21, 100):
    for inverse in (0, 1):
        row("DFT", f"2x20x3x2 =[{length}.] =[1.]", 20, inverse=inverse)
        row("DFT", f"2x20x2 [{length}.]", 17, inverse=inverse)
    row("DFT", f"2x20x1 =[{length}.]", 20, onesided=1)
for axis in (0, 1, 2, -2, -3, -4):
    row("DFT", f"6x7x8x2 - =[{axis}.]", 20)
    row("DFT", "6x7x8x2", 17, axis=axis)
row("DFT", "f64:3x50x2", 20)
row("DFT", "f64:3x200x1", 20, onesided=1)

# ---- STFT ------------------------------------------------------------------

for onesided in (0, 1):
    row("STFT", "2x100x1 =[8.] =16", 17, onesided=onesided)
    row("STFT", "2x100x1 =[8.] - =[16.]", 17, onesided=onesided)
    row("STFT", "2x100x1 [7.] 16 =[16.]", 17, onesided=onesided)
row("STFT", "1x400x1 =[160.] =320", 17)
row("STFT", "2x100x2 =[8.] 16", 17, onesided=0)
row("STFT", "f64:2x60x1 =[5.] f64:10", 17)
