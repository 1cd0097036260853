#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What `gpuval bench game` makes of a game that draws, ends early, hangs, or draws by OpenGL, of
# machines that have no game or no X server, and of signals. Game and server are imitations.
#
#    game.sh GAME.SH

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cd "$private" || exit 99
mkdir tools server temporary

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
init/hang) exec sleep 100 ;;
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

# game NAME=VALUE... -- ARGUMENTS: $status, and the files out, err, and calls
game()
{
   begin "$*"
   : >calls
   set -- GAME_CALLS="$PWD/calls" "$@"
   assignments=
   while [ "$1" != -- ]; do
      assignments="$assignments $1"
      shift
   done
   shift
   # It has 2 seconds where it is interrupted, and then 30 to end.
   # shellcheck disable=SC2086 # words without spaces
   env PATH="$private/tools:$private/server:$PATH" TMPDIR="$private/temporary" GAME_DOES=fine \
      $assignments ${interrupt:+timeout -k 30 2} "$runner" "$@" >out 2>err
   status=$?
   [ -z "$(names "$private/temporary")" ] || wrong 'files are left behind'
}

fails() # TEXT
{
   [ "$status" -eq 1 ] || wrong "status $status"
   last_line err "game: $1"
   lines err . 1
   empty out
}

interrupt=
game -- --rounds 3 --seconds 2 --size 64x48 sync all
[ "$status" -eq 0 ] || wrong "status $status"
lines calls . 9
lines calls '^:93 off --render-driver=vulkan --profile-time=2 --screensize=64x48' 3
# The median of 100.5, 60.5 and 60.5; twice as long with checks.
lines out '^off +60\.5 +1\.00 ' 1
lines out '^all +40\.2 +1\.50 .* 1$' 1
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

# Ctrl-C goes to the game as well, and is not put off until that ends.
interrupt=yes
game GAME_DOES=hang -- init
[ "$status" -eq 124 ] || wrong "it does not end: $status"
interrupt=

mv "$private/tools/supertuxkart" "$private/kept"
if ! PATH=$PATH:/usr/games command -v supertuxkart >/dev/null; then
   game -- init
   fails "supertuxkart is not installed (Debian's package supertuxkart)"
fi

finish
