#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Programs that the software GPU cannot execute, or refuses to: each is told what
# its first line says and ends with an error; nothing crashes.
#
#    errors.sh RUNNER LIBRARY SCENARIO...

set -u

runner=$1
library=$2
shift 2

bad=0
for file in "$@"; do
   expected=$(sed -n '1s/^# EXPECT //p' "$file")
   output=$("$runner" --child-only --preload "$library" "$file" 2>&1)
   status=$?
   if [ "$status" -eq 77 ]; then
      echo "$file: not on this device"
      continue
   fi
   if [ "$status" -ne 1 ] ||
      ! printf '%s\n' "$output" | grep -F 'softgpu: error:' | grep -qF "$expected" ||
      ! printf '%s\n' "$output" | grep -qF 'the program exited with 99'; then
      printf '%s: exited with %s, without "%s":\n%s\n' "$file" "$status" "$expected" "$output"
      bad=1
   fi
done
exit "$bad"
