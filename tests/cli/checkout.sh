# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# What the tests of the command share: a checkout of its own that is set up as far
# as it can see, with the drivers of this build. Nothing is installed, built or
# downloaded. The arguments of a test:
#
#    RUNNER COMMAND NO_DEVICE LAVAPIPE [RADV SHIM]

checkout=$private/checkout
command=$checkout/gpuval
prefix=$checkout/build/prefix
icd=$prefix/share/vulkan/icd.d

mkdir -p "$checkout/build/stamps" "$prefix/bin" "$prefix/lib" "$icd" &&
   cp "$2" "$command" &&
   cp -R "$(dirname "$2")/command" "$checkout" || exit 99
ln -s "$(absolute "$4")" "$prefix/lib/libvulkan_lvp.so"
for name in gpuval-check-names gpuval-report; do
   ln -s "$(dirname "$runner")/../../$name" "$prefix/bin/$name"
done
[ $# -lt 5 ] || ln -s "$(absolute "$5")" "$prefix/lib/libvulkan_radeon.so"
for name in lvp radeon; do
   printf '{"file_format_version": "1.0.1",
 "ICD": {"api_version": "1.4.303", "library_path": "%s/lib/libvulkan_%s.so"}}\n' \
      "$prefix" "$name" >"$icd/${name}_icd.test.json"
done
touch "$checkout/build/stamps/ready"
unset VK_DRIVER_FILES VK_ICD_FILENAMES

gpuval() # ARGUMENT...
{
   "$command" "$@" >out 2>err
   status=$?
}

exits() # STATUS
{
   [ "$status" -eq "$1" ] || wrong "exited with $status instead of $1"
   [ "$status" -eq "$1" ] || show err
}

# Adds what packages are made of, and a build without anything to do.
make_packable() # COMMAND MESA
{
   real=$(cd "$(dirname "$runner")/../../../.." && pwd)
   source=$(dirname "$(absolute "$1")")
   { cp -R "$source/README.rst" "$source/LICENSE" "$source/docs" "$source/demos" "$checkout" &&
      mkdir -p "$checkout/build/obj/src/gpuval/src" &&
      ln -s "$real/src/gpuval/demos" "$checkout/build/obj/src/gpuval/demos" &&
      ln -s "$real/src/gpuval/src/anygpu" "$checkout/build/obj/src/gpuval/src/anygpu" &&
      ln -s "$2" "$checkout/build/mesa"; } || exit 99
   printf 'build src/gpuval/src/anygpu/gpuval-anygpu: phony\n' >"$checkout/build/obj/build.ninja"
   touch "$checkout/build/stamps/ready"
}
