# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# What a build of Mesa needs of the machine, and what of it is missing.

# The code name of a Debian release that has been tried, or nothing.
debian_release()
{
   [ -r /etc/os-release ] || return 0
   (
      ID='' VERSION_CODENAME=''
      # shellcheck source=/dev/null # not a file of this project
      . /etc/os-release
      case "$ID/$VERSION_CODENAME" in
      debian/bookworm | debian/trixie) echo "$VERSION_CODENAME" ;;
      esac
   )
}

release=$(debian_release)

llvm_version()
{
   case $release in
   bookworm) echo 15 ;;
   *) echo 19 ;;
   esac
}

clang_version()
{
   case $release in
   bookworm) echo 14 ;;
   *) echo 19 ;;
   esac
}

glslang_wanted()
{
   case $used_series in
   25.0) echo 11.3 ;;
   *) echo 12.2 ;;
   esac
}

# GROUP|CHECK|DEBIAN PACKAGES. Mesa cannot be built without the group "build";
# "x11" and "wayland" make windowed programs run; "extra" makes builds faster
# and is used by tests. The versions are those that the Mesa of the series asks for.
needs()
{
   case $used_series in
   25.0) meson_wanted=1.1.0 protocols_wanted=1.38 ;;
   *) meson_wanted=1.4.0 protocols_wanted=1.41 ;;
   esac
   cat <<EOF
build|command bison|bison
build|command c++|g++
build|command cc|gcc
build|command flex|flex
build|glslang $(glslang_wanted)|glslang-tools
build|command ninja|ninja-build
build|command patch|patch
build|command pkg-config|pkg-config
build|command python3|python3
build|command spirv-as|spirv-tools
build|command xz|xz-utils
build|meson $meson_wanted|meson
build|llvm 15|llvm-$(llvm_version)-dev
build|python mako|python3-mako
build|python packaging|python3-packaging
build|python yaml|python3-yaml
build|library expat|libexpat1-dev
build|library libdrm_amdgpu >= 2.4.121|libdrm-dev
build|library libelf|libelf-dev
build|library libzstd|libzstd-dev
build|library vulkan|libvulkan-dev
build|library zlib|zlib1g-dev
x11|library x11|libx11-dev
x11|library x11-xcb|libx11-xcb-dev
x11|library xcb|libxcb1-dev
x11|library xcb-dri3 >= 1.13|libxcb-dri3-dev
x11|library xcb-keysyms|libxcb-keysyms1-dev
x11|library xcb-present >= 1.13|libxcb-present-dev
x11|library xcb-randr|libxcb-randr0-dev
x11|library xcb-shm|libxcb-shm0-dev
x11|library xcb-sync|libxcb-sync-dev
x11|library xcb-xfixes|libxcb-xfixes0-dev
x11|library xrandr >= 1.3|libxrandr-dev
x11|library xshmfence >= 1.1|libxshmfence-dev
wayland|library wayland-client >= 1.18|libwayland-dev
wayland|library wayland-protocols >= $protocols_wanted|wayland-protocols
wayland|library wayland-scanner|libwayland-dev
wayland|library wayland-server >= 1.18|libwayland-dev
extra|command Xvfb|xvfb
extra|command ccache|ccache
extra|command clang-format|clang-format
extra|command dpkg-shlibdeps|dpkg-dev
extra|command shellcheck|shellcheck
extra|module jsonschema|python3-jsonschema
extra|fuzzer clang|clang libclang-rt-$(clang_version)-dev
extra|command valgrind|valgrind
extra|command vkcube|vulkan-tools
EOF
   # Debian 13 has no gfxreconstruct.
   [ "$release" != bookworm ] || echo 'extra|command gfxrecon-replay|gfxreconstruct'
}

version_at_least() # HAVE WANTED
{
   printf '%s\n%s\n' "$2" "$1" | sort -C -V
}

# The first glslangValidator that is new enough; Meson is told to use it.
find_glslang() # WANTED
{
   for glslang in /usr/bin/glslangValidator glslangValidator /usr/local/bin/glslangValidator; do
      if have "$glslang" &&
         version_at_least "$("$glslang" --version | sed -n 's/^Glslang Version: [0-9]*://p')" "$1"; then
         command -v "$glslang"
         return
      fi
   done
   return 1
}

# The first Python that has every module; Meson is told to use it.
find_python()
{
   for python in /usr/bin/python3 python3; do
      if "$python" -c 'import mako, packaging.version, yaml' 2>/dev/null; then
         command -v "$python"
         return
      fi
   done
   return 1
}

# An llvm-config whose headers and shared library are there too. First the
# version that was tried on this release.
find_llvm_config()
{
   for version in "$(llvm_version)" 19 18 17 16 15; do
      for config in "/usr/lib/llvm-$version/bin/llvm-config" \
                    "llvm-config-$version" llvm-config; do
         if have "$config" &&
            version_at_least "$("$config" --version)" "$version" &&
            [ -f "$("$config" --includedir)/llvm-c/Core.h" ] &&
            "$config" --link-shared --libs core >/dev/null 2>&1; then
            command -v "$config"
            return
         fi
      done
   done
   return 1
}

is_there() # KIND WHAT
{
   case $1 in
   command) have "$2" ;;
   glslang) find_glslang "$2" >/dev/null ;;
   meson) have meson && version_at_least "$(tool meson --version 2>&1)" "$2" ;;
   llvm) find_llvm_config >/dev/null ;;
   python) find_python >/dev/null || /usr/bin/python3 -c "import $2" 2>/dev/null ;;
   module) "$(find_python || echo /usr/bin/python3)" -c "import $2" 2>/dev/null ;;
   fuzzer) # clang may come without its libraries
      have "$2" && echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
         "$2" -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null
      ;;
   library) have pkg-config && pkg-config --exists "$2" ;;
   esac
}

# The lines of needs() that this machine does not meet, of the groups named.
missing() # GROUP...
{
   needs | while IFS='|' read -r group check package; do
      case " $* " in
      *" $group "*)
         is_there "${check%% *}" "${check#* }" </dev/null || echo "$group|$check|$package"
         ;;
      esac
   done
}

packages_of()
{
   cut -d '|' -f 3 | sort -u | tr '\n' ' '
}

show_missing()
{
   while IFS='|' read -r group check package; do
      printf '   %-8s %-36s (Debian: %s)\n' "$group" "$check" "$package"
   done >&2
}
