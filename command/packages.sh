# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Installing packages with APT, by a configuration of our own: package lists,
# sources and pins leave those of the machine alone; its other settings, such as a
# proxy, stay in force.

# "URI SUITE" of each source of the machine that has a component "main".
machine_sources()
{
   apt-get update --print-uris 2>/dev/null |
      sed -n "s,^'\([^']*\)/dists/\([^']*\)/main/binary-[^']*'.*,\1 \2,p" | sort -u
}

# Where the machine gets Debian itself from. Other repositories may use
# Debian's suite names too: prefer the one that has the updates as well, then
# one that is called "debian".
debian_mirror()
{
   machine_sources | awk -v release="$release" '
      $2 == release || $2 == "stable" || $2 == "oldstable" { score[$1] += 1 }
      $2 ~ "-updates$" { score[$1] += 4 }
      $1 ~ "/debian$" { bonus[$1] = 2 }
      END {
         for (uri in score) {
            if (score[uri] + bonus[uri] > best) {
               best = score[uri] + bonus[uri]
               found = uri
            }
         }
         if (found)
            print found
      }'
}

apt_source() # TYPE URI SUITES
{
   cat <<EOF
Types: $1
URIs: $2
Suites: $3
Components: main
Signed-By: $keyring

EOF
}

debian_keyring()
{
   for file in /usr/share/keyrings/debian-archive-keyring.pgp \
               /usr/share/keyrings/debian-archive-keyring.gpg; do
      if [ -f "$file" ]; then
         echo "$file"
         return
      fi
   done
   return 1
}

apt_sources()
{
   suites=$release
   if machine_sources | grep -qx "$mirror $release-updates"; then
      suites="$suites $release-updates"
   fi
   if [ "$release" = bookworm ]; then
      suites="$suites bookworm-backports"
   fi
   apt_source deb "$mirror" "$suites"
   security=$(machine_sources | sed -n "s/ $release-security\$//p" | head -n 1)
   if [ -n "$security" ]; then
      apt_source deb "$security" "$release-security"
   fi
   apt_source deb-src "$mirror" trixie
}

apt_configuration()
{
   cat <<EOF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$build/apt/sources.list.d";
Dir::Etc::preferences "$build/apt/preferences";
Dir::State::Lists "$build/apt/lists";
Dir::Cache "$build/apt/cache";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
DPkg::Lock::Timeout "600";
EOF
}

# Bookworm's own meson, libdrm and wayland are too old for Mesa 25.0.
apt_preferences()
{
   if [ "$release" = bookworm ]; then
      cat <<EOF
Package: meson libdrm* libwayland* wayland-protocols
Pin: release n=bookworm-backports
Pin-Priority: 500
EOF
   fi
}

private_apt()
{
   env APT_CONFIG="$build/apt/apt.conf" LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

prepare_apt()
{
   [ "${apt_is_ready:-no}" = no ] || return 0
   mirror=$(debian_mirror)
   [ -n "$mirror" ] ||
      fail "no APT source of this machine serves Debian's $release: see /etc/apt/sources.list.d"
   keyring=$(debian_keyring) || fail "Debian's archive keys are not installed (package debian-archive-keyring)"
   mkdir -p "$build/apt/sources.list.d" "$build/apt/lists/partial" "$build/apt/cache"
   apt_sources >"$build/apt/sources.list.d/gpuval.sources"
   apt_preferences >"$build/apt/preferences"
   apt_configuration >"$build/apt/apt.conf"
   logged apt-update quietly private_apt apt-get update -o APT::Update::Error-Mode=any ||
      fail_with_log apt-update "APT cannot get its package lists"
   apt_is_ready=yes
}

# Never removes a package: that must stay the user's decision. The downloaded
# packages are removed by who downloaded them, which is root.
# shellcheck disable=SC2016 # expanded by the inner shell
install_packages() # LOG PACKAGE...
{
   install_log=$1
   shift
   set -- sh -c '"$@"; status=$?; rm -rf "$0"; exit $status' "$build/apt/cache/archives" \
      apt-get install -y --no-install-recommends --no-remove \
      -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@"
   if [ "$(id -u)" != 0 ]; then
      set -- sudo env APT_CONFIG="$build/apt/apt.conf" LC_ALL=C \
         DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} \
         ${https_proxy:+"https_proxy=$https_proxy"} "$@"
   fi
   mkdir -p "$build/apt/cache/archives/partial"
   logged "$install_log" apt_progress private_apt "$@"
}

# Groups beside "build" are worth a second try of their own, not a failure.
install_missing()
{
   # shellcheck disable=SC2046 # a list of package names
   set -- $(missing build x11 wayland extra | packages_of)
   step 1 "installing $# packages: $*"
   prepare_apt
   install_packages apt-install "$@" && return
   # shellcheck disable=SC2046
   set -- $(missing build | packages_of)
   if [ $# -gt 0 ]; then
      install_packages apt-install "$@" ||
         fail_with_log apt-install "APT cannot install what the build needs"
   fi
   for group in x11 wayland extra; do
      # shellcheck disable=SC2046
      set -- $(missing "$group" | packages_of)
      [ $# -eq 0 ] || install_packages "apt-install-$group" "$@" ||
         say "not installed: $* (log: $logs/apt-install-$group.log)"
   done
}

cannot_install()
{
   if [ "$allow_install" = no ]; then
      echo "--no-install was given"
   elif [ -z "$release" ]; then
      echo "packages are installed automatically on Debian 12 and 13 only"
   elif [ "$(id -u)" != 0 ] && ! have sudo; then
      echo "installing packages needs root or sudo"
   fi
}

# What is missing for good is remembered, so that only an explicit setup tries
# again to install it.
get_packages()
{
   # APT could only say that it cannot.
   if [ "$release" = bookworm ] && ! find_glslang "$(glslang_wanted)" >/dev/null && have glslangValidator; then
      fail "Mesa $used_series asks for glslang $(glslang_wanted), and Debian 12's is too old: build on Debian 13, or put a newer glslangValidator into /usr/local/bin"
   fi
   lacking=$(missing build x11 wayland extra)
   if [ -z "$lacking" ]; then
      rm -f "$stamps/lacking"
      return
   fi
   if [ "$explicit_setup" = no ] && [ "$lacking" = "$(cat "$stamps/lacking" 2>/dev/null)" ]; then
      return
   fi
   reason=$(cannot_install)
   if [ -z "$reason" ]; then
      install_missing
      lacking=$(missing build x11 wayland extra)
   fi
   if [ -n "$lacking" ]; then
      say "missing on this machine${reason:+ ($reason)}:"
      echo "$lacking" | show_missing
      if echo "$lacking" | grep -q '^build|'; then
         fail "Mesa cannot be built without the lines marked \"build\""
      fi
      say "going on without: windowed programs need \"x11\" or \"wayland\", some tests need \"extra\""
   fi
   echo "$lacking" >"$stamps/lacking"
}
