#!/bin/sh
# SPDX-License-Identifier: MIT
#
# libfuzzer.sh MESA OBJ RUNS: builds the fuzzer for messages with clang, under
# AddressSanitizer and UBSan, and lets it make RUNS inputs. Skipped where clang or
# its libFuzzer is not installed.

set -u

here=$(dirname -- "$(readlink -f -- "$0")")
mesa=$1
obj=$2
runs=$3

folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM

sanitizers=-fsanitize=fuzzer,address,undefined
echo 'int LLVMFuzzerTestOneInput(const char *d, long s) { return 0; }' >"$folder/empty.c"
if ! ${CLANG:-clang} $sanitizers "$folder/empty.c" -o "$folder/empty" 2>"$folder/log"; then
   echo "skipped: clang with libFuzzer is not installed (Debian: clang)"
   exit 77
fi

# Mesa's own -I and -D, from how Meson compiles the decoder
gpuval=$(readlink -f "$here/../..")
mesa=$(readlink -f "$mesa")
cd "$obj" || exit 99
flags=$(grep '"command".*core_printf_gpuval_printf\.c\.o' compile_commands.json |
   tr ' ' '\n' | grep '^-[DI]' | grep -v '["\\]')
# What of Mesa handles the input is compiled here, and what that calls comes as it is built.
# Mesa's containers hand NULL and 0 bytes to memcpy(): not our matter.
# shellcheck disable=SC2086 # flags are several words
if ! ${CLANG:-clang} -g -O1 -std=gnu11 -w $sanitizers -fno-sanitize-recover=undefined \
   -fno-sanitize=nonnull-attribute,pointer-overflow,alignment $flags \
   "$gpuval/tests/fuzz/fuzz_printf.c" "$gpuval/src/core/printf/gpuval_printf.c" \
   "$gpuval/src/core/printf/gpuval_printf_drain.c" \
   "$mesa/src/util/hash_table.c" "$mesa/src/util/ralloc.c" "$mesa/src/util/u_dynarray.c" \
   "$mesa/src/util/u_printf.c" "$mesa/src/util/blob.c" "$mesa/src/util/os_time.c" \
   "$mesa/src/util/simple_mtx.c" "$mesa/src/util/futex.c" "$mesa/src/c11/impl/time.c" \
   src/util/libmesa_util.a -lm -lpthread -o "$folder/fuzz" >"$folder/log" 2>&1; then
   cut -c 1-300 "$folder/log" | head -n 40
   exit 1
fi

mkdir "$folder/corpus" || exit 99
# Two formats, "%d %v2f" and "%lu", and three messages
{
   printf '\002%%d %%v2f\0\0\002\002\002\001\003\002\002%%lu\0\0\001\001\003\001'
   printf '\030\001\0\016\0\0\0\0\016'
   printf '\005\0\0\0\0\0\0\0\001\0\0\0\0\0\0\077\0\0\200\077'
   printf '\004\0\001\0\0\0\0\0\007\0\0\0\001\0\0\0\005\0\0\0\0\0\0\0\001\0\0\0'
} >"$folder/corpus/seed"

if ! "$folder/fuzz" -runs="$runs" -seed=1 -max_len=1024 -timeout=20 -dict="$gpuval/tests/fuzz/printf.dict" \
   -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus" >"$folder/log" 2>&1; then
   tail -n 60 "$folder/log" | cut -c 1-300
   for file in "$folder"/crash-* "$folder"/timeout-* "$folder"/leak-*; do
      [ -f "$file" ] && od -An -tx1 -v "$file"
   done
   exit 1
fi
grep '^#[0-9]' "$folder/log" | tail -n 1
grep '^Done' "$folder/log"
exit 0
