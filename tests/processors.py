"""Run the suite as other processors, settings and versions would, and print a table.

    python tests/processors.py                     every setting of this machine
    python tests/processors.py Haswell "one thread"      some of them
    python tests/processors.py --versions          Python 3.11 to 3.13
    python tests/processors.py Haswell -- -x tests/attention     options for pytest

A setting changes environment variables: OpenBLAS and NumPy choose their loops by them,
numba compiles for another processor. Each version of Python gets an environment of its
own, once with the oldest packages that setup.cfg allows and once with the newest. The
table names a Python that is not installed, or for which these packages are not built.
"""

import argparse
import configparser
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# NumPy 2.4 calls the features of a processor of 2017 X86_V4, and those of 2013 X86_V3
AVX512 = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
SETTINGS = {
    "as it is": {},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": AVX512},
    "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": f"{AVX512} X86_V3 AVX2 FMA3"},
    "generic numba": {"NUMBA_CPU_NAME": "generic"},
    "compiled kernels": {"ATTENTION_BACKEND": "numba"},
    "one thread": {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    "two threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    "another locale": {"LC_ALL": "C", "LANG": "C"},
    "another time zone": {"TZ": "Pacific/Chatham"},
}
PYTHONS = ("3.11", "3.12", "3.13")


def flags():
    """Return the features of this processor; an empty set where they are not known."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    return set(re.search(r"^flags\s*:(.*)$", text, re.M)[1].split())


def possible(name):
    """Return whether this machine can execute the code of a setting."""
    needs = {"SkylakeX": "avx512f", "Haswell": "avx2", "Zen": "avx2"}
    return name not in needs or needs[name] in flags()


def disabled_features(names):
    """Return those of the names that this NumPy knows and this machine has.

    NumPy raises an error for a feature that it was not built to dispatch.
    """
    code = "from numpy._core._multiarray_umath import __cpu_dispatch__ as d; print(*d)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return " ".join(set(names.split()) & set(done.stdout.split()))


def run(name, python, settings, options, cache):
    """Run the suite once and print its row of the table; return whether it passed."""
    environment = os.environ | settings | {"XDG_CACHE_HOME": cache, "MPLBACKEND": "Agg"}
    if "NPY_DISABLE_CPU_FEATURES" in settings:
        wanted = disabled_features(settings["NPY_DISABLE_CPU_FEATURES"])
        environment["NPY_DISABLE_CPU_FEATURES"] = wanted
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    lines = done.stdout.strip().splitlines() or [done.stderr.strip()[-60:]]
    print(f"{name:28s} {seconds:6.0f} s  {lines[-1]}", flush=True)
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            print(f"    {line}")
    return done.returncode == 0


def environment_of(version, oldest, folder):
    """Make an environment of a Python version; return its interpreter, or None."""
    base = shutil.which(f"python{version}")
    if base is None or subprocess.run([base, "-V"], capture_output=True).returncode:
        return None  # not installed, or a launcher whose version is not
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    needs = config["options"]["install_requires"].strip().splitlines()
    needs += config["options.extras_require"]["test"].splitlines()
    needs = [need.replace(" ", "") for need in needs]
    if oldest:
        needs = [need.replace(">=", "==", 1) for need in needs]
    subprocess.run([base, "-m", "venv", folder], check=True)
    python = str(pathlib.Path(folder) / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--only-binary=:all:", *needs]
    return python if subprocess.run(install).returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--versions", action="store_true", help="other versions")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    unknown = [name for name in args.names if name not in SETTINGS]
    if unknown:
        parser.error(f"There is no setting {unknown[0]!r}; choose from {[*SETTINGS]}.")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors")
    passed = []
    with tempfile.TemporaryDirectory() as scratch:
        if args.versions:
            for version in PYTHONS:
                for oldest in False, True:
                    name = f"Python {version}, {'oldest' if oldest else 'newest'}"
                    folder = f"{scratch}/{version}-{oldest}"
                    python = environment_of(version, oldest, folder)
                    if python is None:
                        print(f"{name:28s} not available")
                        continue
                    passed.append(run(name, python, {}, options, folder))
        else:
            for name in args.names or SETTINGS:
                if not possible(name):
                    print(f"{name:28s} not possible on this processor")
                    continue
                settings = SETTINGS[name]
                passed.append(run(name, sys.executable, settings, options, scratch))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
