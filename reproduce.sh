#!/usr/bin/env bash
# The front door: ./reproduce.sh COMMAND [options]. Makes its own environment on first use, then runs the command.
#
# The environment is a virtual environment in .venv with the versions of requirements.lock. A file in it, written last,
# says that it is complete and for which versions; without that file, or with another one, it is made anew. An active
# conda environment named rsgg (see environment.yml) is used as it is.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
venv="$root/.venv"
ready="$venv/rsgg-ready"

say() { printf '%s\n' "$*" >&2; }

# The first Python that is new enough; RSGG_PYTHON overrides the search.
find_python() {
    local candidate
    for candidate in ${RSGG_PYTHON:+"$RSGG_PYTHON"} python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "Python 3.11 or newer with its venv module is needed and was not found; install it, or name it by RSGG_PYTHON."
    return 2
}

# What a complete environment was made from: the pinned versions, and what pyproject.toml says before its tools' sections.
wanted() {
    local line
    {
        while IFS= read -r line; do [[ "$line" == "##"* ]] || printf '%s\n' "$line"; done <"$root/requirements.lock" # notes may change
        while IFS= read -r line && [[ "$line" != "[tool.ruff]" ]]; do printf '%s\n' "$line"; done <"$root/pyproject.toml"
    } | cksum
    printf '%s\n' "$root"
}

complete() { [[ -x "$venv/bin/python" && -f "$ready" && "$(<"$ready")" == "$1" ]]; }

make_environment() {
    local python started=$SECONDS
    python="$(find_python)" || exit 2
    [[ -e "$venv" ]] && say "The environment in .venv is not complete or not up to date; it is made anew."
    say "Making the environment in .venv (once; a few minutes) ..."
    rm -rf "$venv"
    if ! { "$python" -m venv "$venv" &&
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$root/requirements.lock" &&
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e "$root"; } >&2
    then
        say "The environment could not be made: pip failed as it says above; check the network and the disk, then give the same command again."
        exit 2
    fi
    wanted >"$ready"
    say "The environment is ready ($((SECONDS - started)) s)."
}

if [[ "${CONDA_DEFAULT_ENV:-}" == rsgg && -n "${CONDA_PREFIX:-}" ]]; then
    python="$CONDA_PREFIX/bin/python"
else
    if ! complete "$(wanted)"; then
        if command -v flock >/dev/null; then # two first runs at once: the second waits and finds it ready
            exec 9>"$root/.venv.lock"
            flock 9
        fi
        complete "$(wanted)" || make_environment
        exec 9>&- || true
    fi
    python="$venv/bin/python"
fi

# One thread per process: small graphs gain nothing from more, and results must not depend on how many there are.
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" -m benchmarks.cli "$@"
