#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL: which checks run.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

known='assume assert printf bounds descriptor address indirect vertex ray export sync sync-compute
   shared race init loop mesh converge array arithmetic undefined nan'

begin 'off'
run GPUVAL_LOG="$PWD/log" GPUVAL_REPORT="$PWD/report.jsonl" GPUVAL_DUMP="$PWD" GPUVAL_SAFE=7 \
   two_errors
empty out
empty err
absent log
absent report.jsonl
[ "$(names .)" = 'err out ' ] || wrong "the folder has: $(names .)"

begin 'empty is off'
run GPUVAL= two_errors
empty out
empty err

begin 'one check'
run GPUVAL=bounds two_errors
empty out
two_errors err
no_complaint err

begin 'several checks'
run GPUVAL=assume,bounds two_errors
two_errors err

begin 'no error'
run GPUVAL=bounds no_errors
[ "$(without_scope <err)" = 'gpuval: no errors' ] || wrong "the log is: $(cat err)"

begin 'another check'
run GPUVAL=assume two_errors
last_line err 'gpuval: no errors'

begin 'a check taken away'
run GPUVAL=assume,bounds,-bounds two_errors
last_line err 'gpuval: no errors'

begin 'a check taken away from a set'
run GPUVAL=basic,-bounds two_errors
lines err bounds/ 0
last_line err 'gpuval: no errors'

begin 'a check given back'
run GPUVAL=-bounds,bounds two_errors
two_errors err

begin 'nothing left'
run GPUVAL=bounds,-bounds two_errors
empty out
lines err 'bounds/' 0

begin 'an unknown check'
run GPUVAL=bounds,nonsense two_errors
# shellcheck disable=SC2086 # several words
one_complaint err GPUVAL nonsense $known basic shader concurrency residency all
two_errors err

begin 'nearly a check'
for typo in bonds buonds bounds_ bound; do
   run GPUVAL=$typo two_errors
   one_complaint err GPUVAL "\"$typo\"; did you mean \"bounds\"?"
done

begin 'a variable that does not exist'
for pair in CHEKCS=GPUVAL CHECKS=GPUVAL REPORTS=GPUVAL_REPORT SUPRESSIONS=GPUVAL_SUPPRESSIONS \
   BLOOM_HASH=GPUVAL_BLOOM_HASHES; do
   run "GPUVAL_${pair%=*}=1" GPUVAL=bounds two_errors
   lines err "^gpuval: error: GPUVAL_${pair%=*} is no variable of gpuval; the nearest one is ${pair#*=}\$" 1
   two_errors err
done
run GPUVAL_CHEKCS=1 two_errors
empty err

begin 'only unknown checks'
run GPUVAL=nonsense two_errors
one_complaint err GPUVAL nonsense
lines err 'bounds/' 0

begin 'internal, which is no check'
run GPUVAL=bounds,internal two_errors
no_complaint err
two_errors err
run GPUVAL=internal,bounds,-internal two_errors
no_complaint err
two_errors err

begin 'internal alone'
run GPUVAL=internal two_errors
empty out
empty err

begin 'nearly internal'
run GPUVAL=bounds,internals two_errors
one_complaint err GPUVAL internals internal
two_errors err

begin 'each check alone'
unavailable=
for check in $known; do
   run GPUVAL="$check" no_errors
   if grep -q '^gpuval: warning: ' err; then
      unavailable="$unavailable $check"
   fi
   lines err '^gpuval: error: ' 0
done

# However many are not there: one warning, and the others run.
begin 'every check'
run GPUVAL=all two_errors
two_errors err
lines err '^gpuval: warning: ' "$([ -n "$unavailable" ] && echo 1 || echo 0)"
for check in $known; do
   case " $unavailable " in
   *" $check "*) lines err "^gpuval: warning: .*[ ,]${check}[ ,]" 1 ;;
   *) lines err "^gpuval: warning: .*[ ,]${check}[ ,]" 0 ;;
   esac
done

# What a set names that is not there is in its warning.
set_has() # SET CHECK...
{
   begin "the set $1"
   run GPUVAL="$1" two_errors
   for check in $known; do
      case " $unavailable " in
      *" $check "*)
         case " $* " in
         *" $check "*) lines err "^gpuval: warning: .*[ ,]${check}[ ,]" 1 ;;
         *) lines err "^gpuval: warning: .*[ ,]${check}[ ,]" 0 ;;
         esac
         ;;
      esac
   done
}

set_has basic assume assert printf bounds descriptor address export indirect vertex ray array loop mesh
set_has shader array arithmetic undefined loop converge mesh
set_has concurrency race shared
set_has residency init

begin 'the basic checks'
run GPUVAL=basic two_errors
two_errors err
lines err '^gpuval: warning: ' 0 1

begin 'what has become of the buffer'
run GPUVAL=address ../scenarios/address_gone
lines err 'the buffer "gone" \(32 bytes\) there has been destroyed$' 1
lines err 'the memory of the buffer "freed" \(64 bytes\) there was freed$' 1

finish
