# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Configuring, building and installing Mesa: patched, and for comparison.

# A folder for free kilobytes; the numbers are what the builds take, and some.
check_space() # KILOBYTES WHAT
{
   free=$(df -Pk "$build" | awk 'NR == 2 { print $4 }')
   [ "$free" -ge "$1" ] ||
      fail "$2 needs $(($1 / 1000)) MB in $build; only $((free / 1000)) MB are free"
}

native_file()
{
   cat <<EOF
[binaries]
llvm-config = '$(find_llvm_config)'
python3 = '$(find_python)'
EOF
   [ "$used_series" = "$default_series" ] ||
      echo "glslangValidator = '$(find_glslang "$(glslang_wanted)")'"
}

# X11 and Wayland as far as the machine has what they need.
platforms()
{
   list=
   [ -n "$(missing x11)" ] || list=x11
   [ -n "$(missing wayland)" ] || list=$list${list:+,}wayland
   echo "$list"
}

# The options that all builds share. Mesa names Wayland's queues where the library can: since 1.23,
# which Debian 12 has in bookworm-backports only. Without that, the drivers run with any (1.20).
mesa_options()
{
   cat <<EOF
-Dprefix=$prefix
-Dwrap_mode=nodownload
-Dc_args=-UHAVE_WL_CREATE_QUEUE_WITH_NAME
-Dgallium-drivers=llvmpipe
-Dglx=disabled
-Degl=disabled
-Dgbm=disabled
-Dopengl=false
-Dgles1=disabled
-Dgles2=disabled
-Dvideo-codecs=
-Dllvm=enabled
-Dshared-llvm=enabled
EOF
}

# What they say is searched for reasons: explain_end().
build_tool()
{
   tool LC_ALL=C.UTF-8 "$@"
}

# configure NAME SOURCE OBJ OPTION...: a Meson build folder with these options.
# Anything that is different now (options, the machine's tools, this checkout's
# place) starts it again: Meson ignores some changes of options, and ccache has
# the objects.
configure()
{
   name=$1
   source=$2
   folder=$3
   shift 3
   native_file >"$temporary/native.ini" || fail "$build cannot be written to"
   cmp -s "$temporary/native.ini" "$native" || # ninja looks at its age
      mv "$temporary/native.ini" "$native"
   { printf '%s\n' "$root" "$(tool meson --version)" "$*" && cat "$native"; } \
      >"$temporary/stamp" || fail "$build cannot be written to"
   stamp=$stamps/configured-$name
   if [ -f "$folder/build.ninja" ] && cmp -s "$temporary/stamp" "$stamp"; then
      return
   fi
   step 4 "configuring Mesa in ${folder#"$root/"}"
   rm -rf "$stamp" "$folder"
   mkdir -p "$(dirname "$folder")"
   logged "configure-$name" quietly build_tool meson setup --native-file "$native" "$@" \
      "$folder" "$source" ||
      fail_with_log "configure-$name" "Mesa cannot be configured"
   mv "$temporary/stamp" "$stamp"
}

compile() # NAME OBJ [TARGET...]
{
   name=$1
   folder=$2
   shift 2
   heading="building Mesa in ${folder#"$root/"} (a first build takes minutes)"
   logged "build-$name" ninja_progress build_tool ninja -C "$folder" "$@" ||
      fail_with_log "build-$name" "Mesa cannot be built"
   if grep '^\[' "$logs/build-$name.log" | grep -qv git_sha1; then
      worked=yes
   fi
}

build_main()
{
   # shellcheck disable=SC2046 # one option a line, no spaces within
   configure main "$mesa" "$obj" $(mesa_options) "-Dplatforms=$(platforms)" \
      -Dvulkan-drivers=amd,swrast -Dtools=drm-shim -Dbuild-tests=true \
      -Dbuildtype=release -Doptimization=2 -Db_ndebug=true
   compile main "$obj"
}

# The same sources, unpatched and in a folder of the same shape, so that ccache
# finds most objects.
build_plain()
{
   get_source
   prepare_tree "$plain/mesa" plain-tree mends "$(source_state) $(mends_state "$used_series")"
   # shellcheck disable=SC2046
   configure plain "$plain/mesa" "$plain/obj" $(mesa_options) "-Dplatforms=$(platforms)" \
      -Dvulkan-drivers=amd,swrast -Dtools=drm-shim -Dbuild-tests=false \
      -Dbuildtype=release -Doptimization=2 -Db_ndebug=true
   compile plain "$plain/obj"
   # Not installed: the ICD files that point to the build folder are enough.
   mkdir -p "$plain/icd.d"
   for file in "$plain/obj/src/gallium/targets/lavapipe"/lvp_devenv_icd.*.json \
               "$plain/obj/src/amd/vulkan"/radeon_devenv_icd.*.json; do
      cp "$file" "$plain/icd.d/$(basename "$file" | sed 's/_devenv//')" || exit 1
   done
}

# The files that the tests of a suite depend on, by Meson's introspection.
suite_targets() # OBJ SUITE
{
   "$(find_python)" - "$1/meson-info" "$2" <<EOF
import json, os, sys

folder, suite = sys.argv[1:]

def introspection(name):
    with open(os.path.join(folder, f'intro-{name}.json')) as file:
        return json.load(file)

needed = {target
          for test in introspection('tests')
          if suite in (name.split(':')[-1] for name in test['suite'])
          for target in test['depends']}
for target in introspection('targets'):
    if target['id'] in needed:
        for name in target['filename']:
            print(os.path.relpath(name, os.path.dirname(folder)))
EOF
}

# Sanitizers make compiling slow, with -O2 and -g most of all: neither of them
# here, and only what the tests of the suite need. UBSan is for our code alone,
# where meson.build switches it on again.
build_asan()
{
   # shellcheck disable=SC2046
   configure asan "$mesa" "$asan/obj" $(mesa_options) -Dplatforms= \
      -Dvulkan-drivers=swrast -Dbuild-tests=true -Dvalgrind=disabled \
      -Dbuildtype=debugoptimized -Ddebug=false -Doptimization=1 -Db_ndebug=false \
      -Db_sanitize=address,undefined -Db_lundef=false \
      -Dc_args=-fno-sanitize=undefined -Dcpp_args=-fno-sanitize=undefined
   compile asan "$asan/obj" build.ninja # for the introspection to be up to date
   # shellcheck disable=SC2046 # names of files in the build folder, without spaces
   set -- $(suite_targets "$asan/obj" gpuval-asan)
   [ $# -eq 0 ] || compile asan "$asan/obj" "$@"
}

# Mutexes, threads and atomics of all of Mesa have to be seen, so all of it is instrumented; what
# LLVM compiles is not. Of lavapipe only: the software GPU replaces functions of libc, which
# ThreadSanitizer calls before it is ready.
build_tsan()
{
   # shellcheck disable=SC2046
   configure tsan "$mesa" "$tsan/obj" $(mesa_options) -Dplatforms= \
      -Dvulkan-drivers=swrast -Dbuild-tests=true -Dvalgrind=disabled \
      -Dbuildtype=debugoptimized -Ddebug=false -Doptimization=1 -Db_ndebug=false \
      -Db_sanitize=thread -Db_lundef=false
   compile tsan "$tsan/obj" build.ninja
   # shellcheck disable=SC2046
   set -- $(suite_targets "$tsan/obj" gpuval-tsan)
   [ $# -eq 0 ] || compile tsan "$tsan/obj" "$@"
}

install_drivers()
{
   if [ -f "$stamps/installed" ] && has_drivers &&
      [ -z "$(find "$obj/src" "$stamps/configured-main" \
         \( -name '*.so' -o -name configured-main \) -newer "$stamps/installed")" ]; then
      return
   fi
   step 6 "installing the drivers into ${prefix#"$root/"}"
   touch "$temporary/installed"
   logged install quietly build_tool meson install -C "$obj" --no-rebuild --quiet ||
      fail_with_log install "the drivers cannot be installed"
   has_drivers || fail "Mesa's build has left no ICD files in $prefix/share/vulkan/icd.d"
   mv "$temporary/installed" "$stamps/installed"
}
