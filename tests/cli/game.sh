#!/bin/sh
# SPDX-License-Identifier: MIT
#
# game.sh GAME.SH: what `gpuval bench game` makes of a game that draws, ends early, hangs, or draws by OpenGL, and of
# machines that have no game or no X server. Game and server are imitations.

set -u

measure=$(readlink -f -- "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuval-game.XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM HUP
cd "$folder" || exit 99
mkdir tools server

cat >tools/supertuxkart <<'EOT'
#!/bin/sh
echo "$DISPLAY ${GPUVAL-off} $*" >>"$GAME_CALLS"
rounds=$(wc -l <"$GAME_CALLS")
case ${GPUVAL-off}/$GAME_DOES in
init/opengl) ;;
*) echo 'Vulkan renderer: imitation' ;;
esac
case ${GPUVAL-off}/$GAME_DOES in
init/crash)
   echo 'a fatal error'
   exit 3
   ;;
init/hang) sleep 100 ;;
esac
[ "${GPUVAL-off}" = off ] || {
   echo 'gpuval: error: GPUVAL_X is no variable of gpuval'
   echo 'gpuval: error: export/nan: output 0: x is NaN'
   echo 'gpuval: 1 error (1 occurrence), 0 records lost'
} >"$GPUVAL_LOG"
i=0
while [ "${GPUVAL-off}" = sync ] && [ $i -lt 100000 ]; do i=$((i + 1)); done
case ${GPUVAL-off} in
off) echo "profile: Number of frames: 20 time 2.0, Average FPS: $((rounds < 4 ? 100 : 60)).5" ;;
*) echo 'profile: Number of frames: 20 time 2.0, Average FPS: 40.25' ;;
esac
EOT
cat >server/Xvfb <<'EOT'
#!/bin/sh
[ -z "${SERVER_FAILS-}" ] || { echo 'no display' >&2; exit 1; }
echo 93 >&3
exec sleep 100
EOT
chmod +x tools/supertuxkart server/Xvfb

bad=0
wrong()
{
   echo "$1"
   cat out err
   bad=$((bad + 1))
}

# game NAME=VALUE... -- ARGUMENTS: $status, and the files out and err
game()
{
   rm -f calls
   : >calls
   set -- GAME_CALLS="$folder/calls" "$@"
   assignments=
   while [ "$1" != -- ]; do
      assignments="$assignments $1"
      shift
   done
   shift
   # shellcheck disable=SC2086 # words without spaces
   env PATH="$folder/tools:$folder/server:$PATH" GAME_DOES=fine $assignments "$measure" "$@" >out 2>err
   status=$?
}

fails() # TEXT
{
   [ "$status" -eq 1 ] || wrong "status $status, where it should say: $1"
   [ "$(grep -cF -e "$1" err)/$(wc -l <err)" = 1/1 ] || wrong "it does not say: $1"
   [ ! -s out ] || wrong "it prints a table"
}

game -- --rounds 3 --seconds 2 --size 64x48 sync all
[ "$status" -eq 0 ] || wrong "status $status"
[ "$(wc -l <calls)" -eq 9 ] || wrong "$(wc -l <calls) runs, not 3 of each of 3"
[ "$(grep -c '^:93 off --render-driver=vulkan --profile-time=2 --screensize=64x48' calls)" -eq 3 ] ||
   wrong 'the game has other options'
# The median of 100.5, 60.5 and 60.5; twice as long with checks.
grep -Eq '^off +60\.5 +1\.00 ' out || wrong 'no median'
grep -Eq '^all +40\.2 +1\.50 .* 1$' out || wrong 'no ratio'
awk '$1 == "sync" && $5 > 1.5 { found = 1 } END { exit !found }' out || wrong 'no time of the processor'

game -- --size 3x
fails "--size is WIDTHxHEIGHT, not '3x'"
game -- --rounds 0
fails "--rounds is a number, not '0'"
game -- --seconds
fails '--seconds needs a value'
game -- --fast
fails 'there is no option --fast'
game GAME_DOES=crash -- init
fails "supertuxkart with checks 'init' ended with status 3 and measured nothing: a fatal error"
game GAME_DOES=hang GAME_LIMIT=1 -- init
fails "supertuxkart with checks 'init' did not end in 1 seconds"
game GAME_DOES=opengl -- init
fails "supertuxkart with checks 'init' ended with status 0 and did not use Vulkan"
game SERVER_FAILS=yes -- init
fails 'Xvfb does not start: no display'
mv tools/supertuxkart kept
if ! PATH=$PATH:/usr/games command -v supertuxkart >/dev/null; then
   game -- init
   fails 'supertuxkart is not installed'
fi
[ "$bad" -eq 0 ]
