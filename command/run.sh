# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval run` and `gpuval env`.

absolute_path() # FILE
{
   case $1 in
   /*) printf '%s\n' "$1" ;;
   *) printf '%s/%s\n' "$PWD" "$1" ;;
   esac
}

# A file to write, whose folder is there then. What % stands for is known later only.
file_to_write() # OPTION FILE
{
   folder=$(dirname -- "$2")
   case $folder in
   *%*) ;;
   *) mkdir -p -- "$folder" 2>/dev/null || usage_error "$1: the folder '$folder' cannot be made" ;;
   esac
   absolute_path "$2"
}

# The ending of a file's name that is meant: .json for .jsonl, .xml for .junit.xml
nearest_ending() # FILE
{
   name=${1##*/}
   ending=${name#"${name%%.*}"}
   case $ending in
   *.json) echo "; did you mean '${1%.json}.jsonl'?" ;;
   *.xml) echo "; did you mean '${1%.xml}.junit.xml'?" ;;
   *) did_you_mean "$ending" .jsonl .csv .html .sarif .junit.xml .codequality.json ;;
   esac
}

report_file() # FILE
{
   case $1 in
   *,*) usage_error "--report: a comma cannot be part of a file name: '$1'" ;;
   *.jsonl | *.csv | *.html | *.sarif | *.junit.xml | *.codequality.json)
      file_to_write --report "$1"
      ;;
   *)
      usage_error "--report: '$1' does not end in .jsonl, .csv, .html, .sarif, .junit.xml or \
.codequality.json$(nearest_ending "$1")"
      ;;
   esac
}

source_map() # FROM=TO
{
   case $1 in
   *,*) usage_error "--source-map: a comma cannot be part of a file name: '$1'" ;;
   ?*=*) printf '%s\n' "$1" ;;
   *) usage_error "--source-map is FROM=TO, not '$1'" ;;
   esac
}

# A file that is read: there, and no folder.
file_to_read() # OPTION FILE
{
   [ -e "$2" ] || usage_error "$1: there is no file '$2'"
   [ ! -d "$2" ] || usage_error "$1: '$2' is a folder"
   [ -r "$2" ] || usage_error "$1: '$2' cannot be read"
   absolute_path "$2"
}

suppressions_file() # FILE
{
   case $1 in
   *,*) usage_error "--suppressions: a comma cannot be part of a file name: '$1'" ;;
   *) file_to_read --suppressions "$1" ;;
   esac
}

# Takes a file of an earlier run away, so that what is there in the end is of this one, and tries
# whether the name can be written to. What is no regular file (/dev/null, a pipe) stays.
clear_file() # OPTION FILE
{
   case $2 in
   *%* | stderr | stdout) return ;;
   esac
   [ ! -d "$2" ] || usage_error "$1: '$2' is a folder"
   if [ -e "$2" ] && [ ! -f "$2" ]; then
      [ -w "$2" ] || usage_error "$1: '$2' cannot be written"
      return
   fi
   { rm -f -- "$2" && true >"$2" && rm -f -- "$2"; } 2>/dev/null ||
      usage_error "$1: '$2' cannot be written"
}

# What is there of an earlier run is added to.
coverage_file() # FILE
{
   [ ! -d "$1" ] || usage_error "--coverage: '$1' is a folder"
   if [ -s "$1" ] && [ -f "$1" ]; then
      [ -r "$1" ] || usage_error "--coverage: '$1' cannot be read"
      read -r first <"$1" || true
      case $first in
      TN:* | SF:*) ;;
      *) usage_error "--coverage: '$1' is there, and no tracefile of LCOV" ;;
      esac
   fi
   file_to_write --coverage "$1"
}

# Names of checks and sets are the drivers' business: gpuval-check-names asks their tables.
check_names() # LIST
{
   case $1 in
   *[!,[:space:]]*) ;;
   *) usage_error "--checks: '$1' names no check" ;;
   esac
   "$prefix/bin/gpuval-check-names" --checks "$1" || exit 2
}

# Looks, before the program starts, at what options name. Variables are the driver's.
check_options()
{
   [ -z "$option_checks" ] || check_names "$option_checks"
   [ -z "$option_log" ] || clear_file --log "$option_log"
   list=$option_reports
   while [ -n "$list" ]; do
      clear_file --report "${list%%,*}"
      case $list in
      *,*) list=${list#*,} ;;
      *) list= ;;
      esac
   done
   case $option_coverage in
   '' | *%*) ;;
   *)
      if [ -e "$option_coverage" ]; then
         [ -w "$option_coverage" ]
      else
         { true >"$option_coverage" && rm -f -- "$option_coverage"; } 2>/dev/null
      fi || usage_error "--coverage: '$option_coverage' cannot be written"
      ;;
   esac
}

# Is VALUE a number of at most 9 digits, and not above LIMIT?
is_number() # VALUE LIMIT
{
   case $1 in
   '' | *[!0-9]* | ??????????*) return 1 ;;
   esac
   [ "$1" -le "$2" ]
}

run_option() # OPTION VALUE
{
   case $1 in
   --checks | --driver | --log | --report | --coverage | --shaders | --suppressions | --source-map | \
      --hang-time | --error-exitcode)
      [ -n "$2" ] || usage_error "$1 needs a value"
      ;;
   *)
      usage_error "unknown option '$1'$(did_you_mean "$1" --checks --driver --log --report \
         --coverage --shaders --suppressions --source-map --hang-time --error-exitcode --gl --backtrace \
         --breadcrumbs --gen-suppressions --progress --printf-prefix --help)"
      ;;
   esac
   case $1/$2 in
   --checks/*) option_checks=$option_checks${option_checks:+,}$2 ;;
   --driver/lavapipe | --driver/radv) run_driver=$2 ;;
   --driver/*) usage_error "--driver is lavapipe or radv, not '$2'" ;;
   --log/stderr | --log/stdout) option_log=$2 ;;
   --log/*) option_log=$(file_to_write --log "$2") || exit ;;
   --report/*)
      file=$(report_file "$2") || exit
      option_reports=$option_reports${option_reports:+,}$file
      ;;
   --coverage/*) option_coverage=$(coverage_file "$2") || exit ;;
   --shaders/*) run_shaders=$(file_to_read --shaders "$2") || exit ;;
   --suppressions/*)
      file=$(suppressions_file "$2") || exit
      run_suppressions=$run_suppressions${run_suppressions:+,}$file
      ;;
   --source-map/*)
      map=$(source_map "$2") || exit
      run_source_map=$run_source_map${run_source_map:+,}$map
      ;;
   --hang-time/*)
      is_number "$2" 86400 || usage_error "--hang-time is a number of seconds from 0 to 86400, not '$2'"
      run_hang_time=$2
      ;;
   --error-exitcode/*)
      is_number "$2" 255 || usage_error "--error-exitcode is a number from 0 to 255, not '$2'"
      run_error_exitcode=$2
      ;;
   esac
}

# Sets the variables of run_option and `consumed`, the arguments to shift.
parse_run_options()
{
   option_checks=
   option_log=
   option_reports=
   option_coverage=
   run_driver=lavapipe
   run_shaders=${GPUVAL_SHADERS:-}
   run_suppressions=${GPUVAL_SUPPRESSIONS:-}
   run_source_map=${GPUVAL_SOURCE_MAP:-}
   run_gen_suppressions=${GPUVAL_GEN_SUPPRESSIONS:-}
   run_progress=${GPUVAL_PROGRESS:-}
   run_backtrace=${GPUVAL_BACKTRACE:-}
   run_breadcrumbs=${GPUVAL_BREADCRUMBS:-}
   run_hang_time=${GPUVAL_HANG_TIME:-}
   run_printf_prefix=${GPUVAL_PRINTF_PREFIX:-}
   run_gl=no
   run_error_exitcode=
   consumed=$#
   while [ $# -gt 0 ]; do
      case $1 in
      --)
         shift
         break
         ;;
      --help | -h)
         "help_$command"
         exit
         ;;
      --printf-prefix) run_printf_prefix=1 ;;
      --gen-suppressions) run_gen_suppressions=1 ;;
      --progress) run_progress=1 ;;
      --backtrace) run_backtrace=1 ;;
      --breadcrumbs) run_breadcrumbs=1 ;;
      --gl) run_gl=yes ;;
      --*=*) run_option "${1%%=*}" "${1#*=}" ;;
      -?*)
         run_option "$1" "${2-}"
         shift
         ;;
      *) break ;;
      esac
      shift
   done
   consumed=$((consumed - $#))
   run_checks=${option_checks:-${GPUVAL:-basic}}
   run_log=${option_log:-${GPUVAL_LOG:-}}
   run_coverage=${option_coverage:-${GPUVAL_COVERAGE:-}}
   run_reports=${GPUVAL_REPORT:-}
   run_reports=$run_reports${run_reports:+${option_reports:+,}}$option_reports
}

# OpenGL through the system's zink on our driver, which it takes for software or not.
for_each_gl_variable() # COMMAND
{
   "$1" MESA_LOADER_DRIVER_OVERRIDE zink
   [ "$run_driver" = radv ] || "$1" LIBGL_ALWAYS_SOFTWARE 1
}

# Calls COMMAND NAME VALUE for each environment variable that the options mean.
# VK_ICD_FILENAMES is VK_DRIVER_FILES for loaders before 1.3.207.
for_each_variable() # COMMAND
{
   icd=$(icd_file "$run_driver")
   "$1" VK_DRIVER_FILES "$icd"
   "$1" VK_ICD_FILENAMES "$icd"
   "$1" GPUVAL "$run_checks"
   # An installation can be anywhere, and the drivers have the name of the folder where they were built.
   ! is_installed || [ -n "${DRIRC_CONFIGDIR-}" ] || "$1" DRIRC_CONFIGDIR "$prefix/share/drirc.d"
   [ "$run_gl" = no ] || for_each_gl_variable "$1"
   [ -z "$run_log" ] || "$1" GPUVAL_LOG "$run_log"
   [ -z "$run_reports" ] || "$1" GPUVAL_REPORT "$run_reports"
   [ -z "$run_coverage" ] || "$1" GPUVAL_COVERAGE "$run_coverage"
   [ -z "$run_shaders" ] || "$1" GPUVAL_SHADERS "$run_shaders"
   [ -z "$run_suppressions" ] || "$1" GPUVAL_SUPPRESSIONS "$run_suppressions"
   [ -z "$run_source_map" ] || "$1" GPUVAL_SOURCE_MAP "$run_source_map"
   [ -z "$run_gen_suppressions" ] || "$1" GPUVAL_GEN_SUPPRESSIONS "$run_gen_suppressions"
   [ -z "$run_progress" ] || "$1" GPUVAL_PROGRESS "$run_progress"
   [ -z "$run_backtrace" ] || "$1" GPUVAL_BACKTRACE "$run_backtrace"
   [ -z "$run_breadcrumbs" ] || "$1" GPUVAL_BREADCRUMBS "$run_breadcrumbs"
   [ -z "$run_hang_time" ] || "$1" GPUVAL_HANG_TIME "$run_hang_time"
   [ -z "$run_printf_prefix" ] || "$1" GPUVAL_PRINTF_PREFIX "$run_printf_prefix"
}

export_variable() # NAME VALUE
{
   export "$1=$2"
}

print_variable() # NAME VALUE
{
   printf "export %s='%s'\n" "$1" "$(printf '%s\n' "$2" | sed "s/'/'\\\\''/g")"
}

# What comes before there is a child is kept for it.
pass_on() # SIGNAL
{
   passed_on=yes
   if [ -n "$child" ]; then
      kill -s "$1" "$child" 2>/dev/null
   else
      kept_signals="$kept_signals $1"
   fi
}

# A terminal sends this to the program, too; `kill` and what ends jobs do not.
# Fields of /proc/PID/stat: state ppid pgrp session tty_nr tpgid ...
pass_on_interrupt() # SIGNAL
{
   passed_on=yes
   read -r stat </proc/$$/stat
   # shellcheck disable=SC2086 # fields
   set -- "$1" ${stat##*) }
   [ "$4" = "$7" ] || pass_on "$1"
}

# Who starts us in the background of a shell wants SIGINT and SIGQUIT ignored. The
# last digit of the mask has signals 1 to 4.
ignores_interrupts()
{
   while read -r name value; do
      case $name$value in
      SigIgn:*[014589cd]) return 1 ;;
      SigIgn:*) return 0 ;;
      esac
   done <"/proc/$$/status"
}

# Runs the program as a child, to look at its mark afterwards, but as if it were
# in our place: with our stdin and our signals, which a shell keeps from what runs
# in the background; what is sent to us goes to it, and it goes when we do.
# Descriptor 9, since make and others hand down the first ones.
run_as_child() # PROGRAM [ARGS]
{
   if ! ignores_interrupts && env --default-signal=INT true 2>/dev/null; then
      set -- env --default-signal=INT,QUIT -- "$@"
   fi
   if setpriv --pdeathsig KILL true 2>/dev/null; then
      set -- setpriv --pdeathsig KILL -- "$@"
   fi
   child=
   kept_signals=
   for signal in HUP TERM USR1 USR2; do
      # shellcheck disable=SC2064 # this signal
      trap "pass_on $signal" "$signal"
   done
   trap 'pass_on_interrupt INT' INT
   trap 'pass_on_interrupt QUIT' QUIT
   if { command exec 9<&0; } 2>/dev/null; then
      "$@" <&9 9<&- &
   else
      "$@" <&- &
   fi
   child=$!
   for signal in $kept_signals; do
      pass_on "$signal"
   done

   # Each signal ends a wait. Of a program that had just ended by itself the next
   # one knows nothing (127).
   status=
   while :; do
      passed_on=no
      wait "$child"
      now=$?
      [ "$now" -eq 127 ] && [ -n "$status" ] || status=$now
      [ "$passed_on" = yes ] || break
   done
   trap '' INT QUIT HUP TERM USR1 USR2 # what is left takes no time
}

# A driver that logs to a file writes it anew, and so does write_log().
forget_last_log()
{
   case $run_log in
   stderr | stdout) ;;
   *) [ ! -f "$run_log" ] || { true >"$run_log"; } 2>/dev/null ;;
   esac
}

# Appends to the log as the driver in PROCESS, which %p stands for, would have.
write_log() # PROCESS TEXT
{
   case $run_log in
   '' | stderr) ;;
   stdout)
      printf '%s\n' "$2"
      return
      ;;
   *)
      log=$(printf '%s\n' "$run_log" | sed "s/%p/$1/g")
      { printf '%s\n' "$2" >>"$log"; } 2>/dev/null && return
      ;;
   esac
   printf '%s\n' "$2" >&2
}

# Drivers write their mark there.
can_write_private()
{
   { echo x >"$private/written"; } 2>/dev/null && [ -s "$private/written" ]
}

cannot_write()
{
   echo "nothing can be written to '${TMPDIR:-/tmp}' (is the disk full?)"
}

warn_unchecked()
{
   if ! can_write_private; then
      write_log "$child" "gpuval: warning: $(cannot_write): whether anything was checked is not known"
      return
   fi
   if [ "$run_checks" = none ] && [ -z "$run_coverage" ]; then
      write_log "$child" 'gpuval: warning: no checks were asked for: nothing was checked'
      return
   fi
   write_log "$child" \
      'gpuval: warning: no Vulkan device was created on this driver: nothing was checked'
   why=$(missing_libraries "$run_driver" | sed 's/^/gpuval:    /')
   [ -z "$why" ] || write_log "$child" "$why"
}

# The mark has a line "device" for each device, a line "checked" when a process has a shader or a
# command that is looked at, and a line "error" when one has reported one.
has_mark() # LINE
{
   grep -q -s -x "$1" "$private/mark"
}

# How a process has ended that did not write its reports: the signal of the program's status, or
# _exit(). Of a process that the program has started, and that did not end with a signal which the
# program has ended with as well, nobody but the program knows.
ended_by() # PROCESS
{
   if [ "$status" -gt 128 ] && name=$(kill -l "$((status - 128))" 2>/dev/null); then
      [ "$name" = KILL ] && echo killed || echo "SIG$name"
   elif [ "$1" = "$child" ]; then
      echo exit
   else
      echo unknown
   fi
}

# The name of a report of PROCESS, which has not come to its end. What another one has written whole
# stays: as the driver does it for a child that was forked, the name has the number of the process.
report_of() # PROCESS FILE
{
   name=$(printf '%s\n' "$2" | sed "s/%p/$1/g")
   if [ "$1" != "$child" ] && [ "$name" = "$2" ] && [ -f "$name" ]; then
      case $name in
      *.jsonl) others=$(tail -n 1 -- "$name" | grep '^{"summary":' | grep -v "\"pid\":$1}") ;;
      *) others=$name ;;
      esac
      for ending in .junit.xml .codequality.json .jsonl .csv .html .sarif; do
         case $name in
         *"$ending")
            [ -z "$others" ] || name=${name%"$ending"}.$1$ending
            break
            ;;
         esac
      done
   fi
   printf '%s\n' "$name"
}

# Processes that have not come to their end leave a journal of what was found until then
# (src/report/gpuval_journal.h): of it come their reports, and the end of the log.
finish_reports()
{
   for journal in "$private"/mark.*.jsonl; do
      [ -f "$journal" ] || continue
      process=${journal%.jsonl}
      process=${process##*.}
      set --
      [ -z "$run_coverage" ] ||
         set -- --coverage "$(printf '%s\n' "$run_coverage" | sed "s/%p/$process/g")"
      list=$run_source_map
      while [ -n "$list" ]; do
         set -- "$@" --source-map "${list%%,*}"
         case $list in
         *,*) list=${list#*,} ;;
         *) list= ;;
         esac
      done
      list=$run_reports
      while [ -n "$list" ]; do
         set -- "$@" -o "$(report_of "$process" "${list%%,*}")"
         case $list in
         *,*) list=${list#*,} ;;
         *) list= ;;
         esac
      done
      last_words=$("$prefix/bin/gpuval-report" --ended "$(ended_by "$process")" "$@" -- "$journal") ||
         say "the reports of process $process are not complete"
      [ -z "$last_words" ] || write_log "$process" "$last_words"
   done
}

# The program's status, unless --error-exitcode says otherwise. Where this is a part
# of another `gpuval run`, that one wants to know, too.
watch_program() # PROGRAM [ARGS]
{
   outer_mark=${GPUVAL_MARK-}
   export GPUVAL_MARK="$private/mark"
   forget_last_log
   run_as_child "$@"
   [ -z "$outer_mark" ] || { cat "$private/mark" >>"$outer_mark"; } 2>/dev/null
   if has_mark device; then
      finish_reports
      [ -z "$run_error_exitcode" ] || has_mark checked || write_log "$child" \
         'gpuval: warning: no shader and no command was looked at: nothing was checked'
   else
      warn_unchecked
   fi
   if [ -n "$run_error_exitcode" ] && [ "$status" -eq 0 ] &&
      { has_mark error || ! has_mark checked; }; then
      status=$run_error_exitcode
   fi
}

# The statuses are those of a shell.
check_program() # PROGRAM
{
   case $1 in
   */*)
      [ -e "$1" ] || fail_with 127 "cannot start '$1': there is no such file"
      [ ! -d "$1" ] || fail_with 126 "cannot start '$1': it is a folder"
      [ -x "$1" ] || fail_with 126 "cannot start '$1': it is not executable"
      ;;
   *)
      command -v -- "$1" >/dev/null ||
         fail_with 127 "cannot start '$1': PATH has no such program$(
            [ ! -x "./$1" ] || echo " (./$1 is one in this folder)"
         )"
      ;;
   esac
}

command_run()
{
   parse_run_options "$@"
   shift "$consumed"
   [ $# -gt 0 ] || usage_error "no program given"
   ensure_setup
   check_options
   check_program "$1"
   for_each_variable export_variable
   wrong="no folder can be made in '${TMPDIR:-/tmp}'"
   if private=$(mktemp -d "${TMPDIR:-/tmp}/gpuval.XXXXXX" 2>/dev/null); then
      if can_write_private; then
         trap 'rm -rf "$private"' EXIT
         watch_program "$@"
         exit "$status"
      fi
      rm -rf "$private"
      wrong=$(cannot_write)
   fi
   [ -z "$run_error_exitcode" ] || fail_with 2 "$wrong, which --error-exitcode needs: set TMPDIR"
   say "$wrong: if the program is killed, its reports lack what was found"
   exec "$@"
}

command_env()
{
   parse_run_options "$@"
   shift "$consumed"
   [ $# -eq 0 ] || usage_error "unknown argument '$1'"
   [ -z "$run_error_exitcode" ] || say "--error-exitcode has a meaning for ./gpuval run only"
   ensure_setup
   [ -z "$option_checks" ] || check_names "$option_checks"
   for_each_variable print_variable
}

help_options()
{
   cat <<EOF
   --checks LIST        checks and sets, comma-separated (default: basic); given
                        several times, they add up
   --driver NAME        lavapipe (default) or radv; radv needs an AMD GPU, or
                        Mesa's DRM shim, on which nothing is executed
   --gl                 OpenGL programs: through zink of the system's Mesa
   --log FILE           write the text log to FILE (default: stderr)
   --report FILE        write a report when the program ends (into a folder that is
                        made if need be); FILE ends in
                        .jsonl, .csv, .html, .sarif, .junit.xml or
                        .codequality.json; may be given several times
   --coverage FILE      count which lines, functions and branches of shaders are
                        executed, and add that to FILE, a tracefile of LCOV
                        (genhtml -o FOLDER FILE shows it)
   --shaders FILE       check only the shaders that FILE selects
   --suppressions FILE  do not report what FILE names; may be given several times
   --source-map FROM=TO name sources below FROM as if they were below TO, in files
                        for other tools; may be given several times
   --backtrace          tell where the program has recorded the commands and created
                        the objects that reports name
   --hang-time SECONDS  say so when a submit takes longer, with what is in flight
                        (default: 5; 0: never)
   --breadcrumbs        RADV: the GPU writes down which commands it is at, for that
                        and for when the device is lost
   --gen-suppressions   print an entry for such a file behind each failure
   --progress           keep a line on the terminal that says what was found so far
   --printf-prefix      what shaders print (DebugPrintf) begins with the shader
                        and the invocation
EOF
}

help_run()
{
   cat <<EOF
usage: ./gpuval run [options] [--] PROGRAM [ARGS]

Runs a Vulkan program on the patched driver. The exit status is the program's.
Options that make no sense, and files of options that cannot be read or written,
end with status 2 before the program starts. A log or a report of an earlier run
is gone then; what --coverage names is added to.

$(help_options)
   --error-exitcode N   exit with N when errors were reported, or nothing was
                        checked at all, or a variable or a file made no sense,
                        and the program itself exited with 0

'%p' in a file name becomes the process id. GPUVAL, GPUVAL_LOG, GPUVAL_REPORT,
GPUVAL_COVERAGE, GPUVAL_SHADERS, GPUVAL_SUPPRESSIONS, GPUVAL_SOURCE_MAP,
GPUVAL_GEN_SUPPRESSIONS, GPUVAL_PROGRESS, GPUVAL_BACKTRACE, GPUVAL_BREADCRUMBS,
GPUVAL_HANG_TIME and GPUVAL_PRINTF_PREFIX in the environment apply where no option is given.

   ./gpuval run -- vkcube --c 100
   ./gpuval run --checks all,-sync --log log.%p -- ./my-game
   ./gpuval run --coverage shaders.info -- ./my-tests
   ./gpuval run --report bugs.jsonl --report bugs.sarif --error-exitcode 9 -- ./my-test
   ./gpuval run --gen-suppressions --log log -- ./my-program
   ./gpuval run --suppressions known --driver radv -- ./my-program
EOF
}

help_env()
{
   cat <<EOF
usage: ./gpuval env [options]

Prints "export NAME='VALUE'" lines:

   eval "\$(./gpuval env --checks bounds,printf)"

$(help_options)
EOF
}
