#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `gpuval setup` that a full disk, a killed process or a lost network ends: the last line says
# what happened and what to do, and the next call goes on from there. It builds a Mesa of five
# files, which has the options of the real one.
#
#    setup.sh RUNNER COMMAND

# Mounts of this test are its own, where it may mount anything.
if [ -z "${GPUVAL_TEST_MOUNTS-}" ]; then
   GPUVAL_TEST_MOUNTS=no
   if unshare -r -m true 2>/dev/null; then
      export GPUVAL_TEST_MOUNTS=yes
      exec unshare -r -m "$0" "$@"
   fi
fi

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

original=$(readlink -f "$2")
faults=$private/faults # a file there is what goes wrong
fake=$private/fake     # programs that come before the machine's own
source=$private/mesa-25.0.7
mkdir -p "$faults" "$fake" "$source/src/vulkan"
trap 'umount "$private/small" 2>/dev/null; rm -rf "$private"' EXIT

# --- Mesa --------------------------------------------------------------------

echo 25.0.7 >"$source/VERSION"
: >"$source/src/vulkan/meson.build"
for option in platforms tools video-codecs gallium-drivers vulkan-drivers; do
   echo "option('$option', type : 'array', value : [])"
done >"$source/meson_options.txt"
for option in glx egl gbm gles1 gles2 llvm shared-llvm valgrind; do
   echo "option('$option', type : 'string', value : '')"
done >>"$source/meson_options.txt"
for option in opengl build-tests; do
   echo "option('$option', type : 'boolean', value : true)"
done >>"$source/meson_options.txt"
printf "project('mesa', 'c')\nsubdir('src')\n" >"$source/meson.build"
cat >"$source/src/meson.build" <<'EOF'
foreach name : ['lvp', 'radeon']
  shared_library(
    'vulkan_' + name, 'one.c', 'two.c', 'three.c', 'four.c', 'large.c', install : true,
  )
  configure_file(
    input : 'icd.json.in',
    output : name + '_icd.test.json',
    configuration : {'library' : get_option('prefix') / get_option('libdir') / 'libvulkan_' + name + '.so'},
    install_dir : get_option('datadir') / 'vulkan' / 'icd.d',
  )
endforeach
EOF
echo '{"ICD": {"library_path": "@library@"}}' >"$source/src/icd.json.in"
for name in one two three four; do
   echo "int $name(void); int $name(void) { return 0; }" >"$source/src/$name.c"
done
# 8 MB of an object
echo '__asm__(".data; .fill 8388608, 1, 1; .text");' >"$source/src/large.c"

# --- A machine ---------------------------------------------------------------

# The compiler; it writes down what it has compiled.
cat >"$fake/cc" <<EOF
#!/bin/sh
name=
case " \$* " in
*' -c '*) for name do :; done ;;
esac
case \$name in
*/three.c)
   if [ -e "$faults/killed" ]; then
      exec cc -wrapper sh,-c,'kill -9 \$\$' "\$@"
   elif [ -e "$faults/full" ]; then
      echo '/tmp/ccYx.s: fatal error: error writing to three.o: No space left on device'
      exit 1
   elif [ -e "$faults/slow" ]; then
      touch "$faults/slow.reached"
      while [ -e "$faults/slow" ]; do sleep 0.2; done # ninja's are of other process groups
   fi
   ;;
esac
cc "\$@" || exit
[ -z "\$name" ] || echo "\$PWD \$*" >>"$faults/compiled"
EOF

# APT, as far as a setup needs it; the words without a network are those of APT 2.6.
cat >"$fake/apt-get" <<EOF
#!/bin/sh
if [ "\$*" = 'update --print-uris' ]; then
   echo "'http://deb.example.org/debian/dists/$(. /etc/os-release; echo "${VERSION_CODENAME-}")/main/binary-amd64/Packages.xz' x 0"
   exit
fi
if [ -e "$faults/no-network" ]; then
   echo 'Err:1 http://deb.example.org/debian trixie InRelease'
   echo "  Temporary failure resolving 'deb.example.org'"
   echo "E: Failed to fetch http://deb.example.org/debian/dists/trixie/InRelease  Temporary failure resolving 'deb.example.org'"
   echo 'E: Some index files failed to download. They have been ignored, or old ones used instead.'
   exit 100
fi
case " \$* " in
*' source '*)
   if [ -e "$faults/no-source" ]; then
      echo 'E: Failed to fetch http://deb.example.org/mesa_25.0.7.orig.tar.xz  Could not connect to deb.example.org:80 (192.0.2.1). - connect (113: No route to host)'
      exit 100
   fi
   cp "$private/mesa_25.0.7.orig.tar.xz" .
   ;;
*' install '*)
   if [ -e "$faults/dpkg" ]; then
      echo "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."
      exit 100
   fi
   ;;
esac
EOF
printf '#!/bin/sh\necho Version: 25.0.7-2\n' >"$fake/apt-cache"
printf '#!/bin/sh\nexec "$@"\n' >"$fake/sudo"
chmod +x "$fake"/*
tar -C "$private" -cJf "$private/mesa_25.0.7.orig.tar.xz" mesa-25.0.7

# --- A checkout --------------------------------------------------------------

new_checkout() # FOLDER
{
   checkout=$1
   rm -rf "$checkout" "$faults"
   mkdir "$faults"
   mkdir -p "$checkout/mesa/25.0" && : >"$checkout/mesa/25.0/series"
   { cp "$original" "$checkout/gpuval" && cp -R "$(dirname "$original")/command" "$checkout"; } ||
      exit 99
}

setup() # ARGUMENT...
{
   PATH="$fake:$PATH" CC="$fake/cc" CCACHE_DISABLE=1 "$checkout/gpuval" setup "$@" >out 2>err
   status=$?
}

ends_with() # STATUS WORD...
{
   expected=$1
   shift
   [ "$status" -eq "$expected" ] || wrong "exited with $status instead of $expected"
   line=$(tail -n 1 err)
   for word in "$@"; do
      case $line in
      'gpuval: '*"$word"*) ;;
      *)
         wrong "the last line has no '$word'"
         show err
         return
         ;;
      esac
   done
}

goes_on() # ARGUMENT...
{
   setup --no-install "$@"
   ends_with 0 'ready; ./gpuval demo'
}

# Nothing is compiled twice.
once()
{
   again=$(sort "$faults/compiled" | uniq -d | grep -v -e sanitycheck -e meson-private)
   [ -z "$again" ] || wrong "compiled twice: $again"
}

# --- The build ---------------------------------------------------------------

begin 'a compiler is killed'
new_checkout "$private/checkout"
touch "$faults/killed"
setup --no-install --mesa-src "$source"
ends_with 1 killed memory '-j 1' './gpuval setup again'
rm "$faults/killed"
goes_on
once
setup --no-install
ends_with 0 'nothing to do'

begin 'a compiler finds no room'
new_checkout "$private/checkout"
touch "$faults/full"
setup --no-install --mesa-src "$source"
ends_with 1 'the disk is full' 'MB left' './gpuval setup again'
rm "$faults/full"
goes_on
once

# Waits until the other compilers have ended: one that gets a signal when its object is there, and
# ninja does not know yet, compiles it twice.
settle()
{
   for _ in $(seq 60); do
      before=$(wc -l <"$faults/compiled")
      sleep 2
      [ "$before" -ne "$(wc -l <"$faults/compiled")" ] || return
   done
}

# A session's end, or a job that takes too long: all of its processes get the signal.
for signal in TERM KILL; do
   begin "a setup gets SIG$signal"
   new_checkout "$private/checkout"
   touch "$faults/slow"
   # shellcheck disable=SC2016 # expanded by the inner shell
   setsid env PATH="$fake:$PATH" CC="$fake/cc" CCACHE_DISABLE=1 sh -c \
      'echo $$ >group; exec "$0" setup --no-install --mesa-src "$1"' \
      "$checkout/gpuval" "$source" >out 2>err &
   wait_for "$faults/slow.reached"
   settle
   kill "-$signal" "-$(cat group)"
   wait $! 2>/dev/null # where the shell says that it was killed
   status=$?
   case $signal in
   TERM) ends_with 143 interrupted './gpuval setup goes on from there' ;;
   KILL) [ "$status" -eq 137 ] || wrong "exited with $status" ;;
   esac
   rm "$faults/slow"
   goes_on
   [ "$signal" = KILL ] || once # ninja has had no time to write down what was compiled
done

# --- The disk ----------------------------------------------------------------

if [ "$GPUVAL_TEST_MOUNTS" = yes ] && mkdir "$private/small" &&
   mount -t tmpfs -o size=3g tmpfs "$private/small" 2>err; then

   leave() # KILOBYTES
   {
      used=$(df -Pk "$private/small" | awk 'NR == 2 { print $3 }')
      mount -o "remount,size=$((used + $1))k" "$private/small"
   }

   begin 'the disk is too small'
   new_checkout "$private/small/checkout"
   leave 100000
   setup --no-install --mesa-src "$source"
   ends_with 1 'needs 2000 MB' 'MB are free'
   mount -o remount,size=3g "$private/small"
   goes_on --mesa-src "$source"

   # The source has changed: it is unpacked again, and what is different is compiled.
   for left in 0 4000; do
      begin "$left kilobytes are left"
      echo "__asm__(\".data; .fill 40000000, 1, $left & 255; .text\");" >>"$source/src/large.c"
      leave "$left"
      setup --no-install
      ends_with 1 'the disk is full' "$checkout/build has " './gpuval setup again'
      mount -o remount,size=3g "$private/small"
      goes_on
      cmp -s "$source/src/large.c" "$checkout/build/mesa/src/large.c" || wrong 'the source is the old one'
      [ "$(find "$checkout/build/mesa" -name '*.c' | wc -l)" -eq 5 ] || wrong 'files are missing'
   done
else
   echo 'nothing can be mounted here: no small disk'
fi

# --- The network -------------------------------------------------------------

if ! grep -qs -e '^VERSION_CODENAME=bookworm' -e '^VERSION_CODENAME=trixie' /etc/os-release; then
   echo 'neither Debian 12 nor 13: no APT'
   finish
fi

begin 'no network'
new_checkout "$private/checkout"
touch "$faults/no-network"
setup
ends_with 1 'there is no network' "'deb.example.org'" './gpuval setup again'
rm "$faults/no-network"
setup
ends_with 0 'ready; ./gpuval demo'

begin 'the network is lost before the source has come'
new_checkout "$private/checkout"
touch "$faults/no-source"
setup
ends_with 1 'there is no network' deb.example.org:80 './gpuval setup again'
[ -z "$(ls "$checkout/build/download" 2>/dev/null)" ] || wrong 'half a download is left'
rm "$faults/no-source"
setup
ends_with 0 'ready; ./gpuval demo'

# The source is there: nobody needs the network.
begin 'no network, and the source is there'
rm -r "$checkout/build/obj"
touch "$faults/no-network"
goes_on

finish
