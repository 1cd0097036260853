# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Minimal Debians in a folder, as fresh machines to try things on. All of it needs root.

machine_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# "URI SUITE" of each of this machine's own APT sources.
machine_sources()
{
   apt-get update --print-uris |
      sed -n "s,^'\([^']*\)/dists/\([^']*\)/main/binary-[^']*'.*,\1 \2,p"
}

# The Debian mirror that this machine uses; debootstrap cannot read a list of
# mirrors, so of such a list the first one.
debian_mirror()
{
   uri=$(machine_sources | sed -n 's, [a-z]*-updates$,,p' | head -n 1)
   [ -n "$uri" ] || uri=$(machine_sources | sed -n 's,/debian [a-z]*$,/debian,p' | head -n 1)
   case $uri in
   mirror+file:*) grep -v '^#' "${uri#mirror+file:}" | awk 'NR == 1 { print $1 }' ;;
   *) echo "$uri" ;;
   esac
}

# What of this machine's APT settings a machine behind the same network needs.
network_settings()
{
   apt-config dump | grep -E '^Acquire::(http|https|ForceIPv4|ForceIPv6|Retries|Check-)'
}

# Whatever there is to be read of a machine's network is this one's.
bootstrap_machine() # FOLDER RELEASE [PACKAGE]
{
   include=${3-}
   case $mirror in
   https:*) include=ca-certificates${include:+,}$include ;;
   esac
   debootstrap --variant=minbase ${include:+--include=$include} "$2" "$1" "$mirror" || return 1
   network_settings >"$1/etc/apt/apt.conf.d/90network"
   cp /etc/resolv.conf "$1/etc/resolv.conf"
   printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d" # starts no services
   chmod +x "$1/usr/sbin/policy-rc.d"
}

# The mounts are in a namespace of their own and go with its last process.
# shellcheck disable=SC2016 # expanded by the inner shell
run_in_machine() # FOLDER COMMAND...
{
   unshare --mount --pid --fork --kill-child --propagation private sh -c '
      mount -t proc proc "$1/proc" &&
      mount --rbind /dev "$1/dev" &&
      mount -t tmpfs tmpfs "$1/dev/shm" &&
      mount -t sysfs -o ro sysfs "$1/sys" &&
      exec chroot "$@"
   ' sh "$@" </dev/null
}
