#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The recipes of docs/ci.rst: test runners with `gpuval run` in front of each test. Of two tests that
# pass, one has errors in its shaders.
#
#    ci.sh RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checkout.sh
. "$(dirname "$0")/checkout.sh"

PATH=$checkout:$PATH
unset DESTDIR LD_PRELOAD

# The source of a program that is SCENARIO
program() # SCENARIO
{
   printf '#include <unistd.h>\nint main(void)\n{\n   return execl("%s", "scenario", "--child-only", "%s", (char *)0);\n}\n' \
      "$runner" "$tests/$1.scn"
}

# What a build and a test runner said is in out and err.
can() # COMMAND...
{
   "$@" >>out 2>>err || { wrong "$1 failed" && show out err; }
}

# One report of all
report_is() # FOLDER
{
   gpuval report "$1" -o all.junit.xml
   exits 0
   lines out '^gpuval: 2 errors [(]5 occurrences[)] in 2 runs, 0 records lost$' 1
   lines all.junit.xml '<failure' 2
}

if command -v meson >/dev/null; then
   begin Meson
   program two_errors >bad.c
   program no_errors >good.c
   cat >meson.build <<'EOF'
project('particles', 'c')
test('bad', executable('bad', 'bad.c'))
test('good', executable('good', 'good.c'))
gpuval = find_program('gpuval', required : false)
if gpuval.found()
  add_test_setup('gpuval',
    exe_wrapper : [gpuval, 'run', '--error-exitcode', '9',
                   '--report', meson.current_build_dir() / 'reports/%p.jsonl', '--'],
    timeout_multiplier : 5)
endif
EOF
   can meson setup build
   meson test -C build --setup gpuval >out 2>err
   lines out 'bad +FAIL .*exit status 9' 1
   lines out 'good +OK' 1
   report_is build/reports
fi

if command -v cmake >/dev/null && command -v ctest >/dev/null; then
   begin CTest
   program two_errors >bad.c
   program no_errors >good.c
   cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(particles C)
enable_testing()
foreach(name bad good)
  add_executable(${name} ${name}.c)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
EOF
   can cmake -B build \
      "-DCMAKE_CROSSCOMPILING_EMULATOR=gpuval;run;--error-exitcode;9;--report;$PWD/reports/%p.jsonl;--"
   can cmake --build build
   ctest --test-dir build >out 2>err
   lines out 'bad [.]*.*Failed ' 1
   lines out 'good [.]* +Passed ' 1
   report_is reports
fi

if cargo --version >/dev/null 2>&1 && [ "$(uname -m)" = x86_64 ]; then
   begin Cargo
   mkdir src
   printf '[package]\nname = "particles"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
   cat >src/lib.rs <<EOF
#[cfg(test)]
mod tests {
    fn run(scenario: &str) {
        let mut command = std::process::Command::new("$runner");
        command.args(["--child-only", &format!("$tests/{scenario}.scn")]);
        assert!(command.status().unwrap().success());
    }
    #[test]
    fn bad() { run("two_errors"); }
    #[test]
    fn good() { run("no_errors"); }
}
EOF
   runner_of_cargo="gpuval run --error-exitcode 9 --report $PWD/reports/%p.jsonl --"
   if CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$runner_of_cargo \
      cargo test --offline --lib >out 2>err; then
      wrong 'cargo test passes'
   fi
   lines out '^test result: ok. 2 passed' 1
   report_is reports
fi

begin Python
cat >test_particles.py <<EOF
import subprocess, unittest
class Particles(unittest.TestCase):
    def scenario(self, name):
        subprocess.run(['$runner', '--child-only', f'$tests/{name}.scn'], check=True)
    def test_bad(self):
        self.scenario('two_errors')
    def test_good(self):
        self.scenario('no_errors')
EOF
gpuval run --error-exitcode 9 --report reports/%p.jsonl -- python3 -m unittest test_particles
exits 9
lines err '^OK$' 1
report_is reports

begin 'a folder without a report'
mkdir reports
gpuval report reports -o all.junit.xml
exits 2
absent all.junit.xml

finish
