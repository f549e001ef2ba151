"""How lit runs the tests below this folder; CMake writes lit.site.cfg.py."""

import ctypes.util
import glob
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "Lumen"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "unit", "bench", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.lumen_binary_dir, "test")

# A test that hangs must not hold the others up. Whole models take longer.
config.maxIndividualTestTime = 900

tier = lit_config.params.get("tier", "ci")
if tier == "full":
    config.available_features.add("full")

with open("/proc/cpuinfo") as cpuinfo:
    flags = next((line for line in cpuinfo if line.startswith(("flags", "Features"))), "").split()
if {"avx2", "fma", "f16c", "bmi2"} <= set(flags):
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(flags):
    config.available_features.add("avx512")

# The loader, and the manifest of a driver.
if ctypes.util.find_library("vulkan") and any(
        glob.glob(f"{folder}/vulkan/icd.d/*.json")
        for folder in ("/usr/share", "/usr/local/share", "/etc")):
    config.available_features.add("vulkan")

# What assembles PTX.
sys.path.insert(0, os.path.join(config.test_source_root, "ptx"))
import assemble
ptxas = assemble.find_ptxas()
if ptxas:
    config.available_features.add("ptxas")

bin_dir = os.path.join(config.lumen_binary_dir, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bin_dir, os.path.join(config.llvm_prefix, "bin"), os.environ.get("PATH", "")])
for name in ["LUMEN_RESULTS", "LUMEN_FUZZ_RUNS", "LUMEN_TEST_TIER", "HOME"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Tests leave nothing behind.
config.environment["LUMEN_CACHE"] = ""
# Tests choose the level and the number of threads themselves.
config.environment["LUMEN_SOURCE_DIR"] = config.lumen_source_dir
config.environment["LUMEN_BINARY_DIR"] = config.lumen_binary_dir

def find_library(name):
    """The path that the C compiler finds a library at."""
    return subprocess.run([config.c_compiler, f"-print-file-name={name}"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


# The runtime of AddressSanitizer, to preload into programs that lack it.
asan = "" if "address" in config.sanitize else find_library("libclang_rt.asan-x86_64.so")

config.substitutions += [
    ("%asan", f"'{asan}'"),
    ("%vulkan", find_library("libvulkan.so.1")),
    ("%fake_cuda", f"{config.lumen_binary_dir}/test/fake/cuda"),
    ("%ptxas", ptxas or ""),
    ("%python", config.python),
    ("%cc", config.c_compiler),
    ("%cxx", config.cxx_compiler),
    ("%cmake", shutil.which("cmake")),
    ("%source_dir", config.lumen_source_dir),
    ("%binary_dir", config.lumen_binary_dir),
    ("%exit_code", f"{config.python} {config.test_source_root}/runtime/Inputs/exit_code.py"),
    ("%models", os.path.join(config.test_source_root, "models")),
]
