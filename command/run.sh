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

report_file() # FILE
{
   case $1 in
   *,*) usage_error "--report: a comma cannot be part of a file name: '$1'" ;;
   *.jsonl | *.csv | *.html) absolute_path "$1" ;;
   *) usage_error "--report: '$1' does not end in .jsonl, .csv or .html" ;;
   esac
}

exit_status() # VALUE
{
   case $1 in
   *[!0-9]* | ????*) return 1 ;;
   esac
   [ "$1" -le 255 ]
}

run_option() # OPTION VALUE
{
   case $1 in
   --checks | --driver | --log | --report | --shaders | --error-exitcode)
      [ -n "$2" ] || usage_error "$1 needs a value"
      ;;
   *) usage_error "unknown option '$1'" ;;
   esac
   case $1/$2 in
   --checks/*) run_checks=$2 ;;
   --driver/lavapipe | --driver/radv) run_driver=$2 ;;
   --driver/*) usage_error "--driver is lavapipe or radv, not '$2'" ;;
   --log/stderr | --log/stdout) run_log=$2 ;;
   --log/*) run_log=$(absolute_path "$2") ;;
   --report/*)
      file=$(report_file "$2") || exit
      run_reports=$run_reports${run_reports:+,}$file
      ;;
   --shaders/*) run_shaders=$(absolute_path "$2") ;;
   --error-exitcode/*)
      exit_status "$2" || usage_error "--error-exitcode is a number from 0 to 255, not '$2'"
      run_error_exitcode=$2
      ;;
   esac
}

# Sets the variables of run_option and `consumed`, the arguments to shift.
parse_run_options()
{
   run_checks=${GPUVAL:-basic}
   run_driver=lavapipe
   run_log=${GPUVAL_LOG:-}
   run_reports=${GPUVAL_REPORT:-}
   run_shaders=${GPUVAL_SHADERS:-}
   run_printf_prefix=${GPUVAL_PRINTF_PREFIX:-}
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
}

# Calls COMMAND NAME VALUE for each environment variable that the options mean.
# VK_ICD_FILENAMES is VK_DRIVER_FILES for loaders before 1.3.207.
for_each_variable() # COMMAND
{
   icd=$(icd_file "$run_driver")
   "$1" VK_DRIVER_FILES "$icd"
   "$1" VK_ICD_FILENAMES "$icd"
   "$1" GPUVAL "$run_checks"
   [ -z "$run_log" ] || "$1" GPUVAL_LOG "$run_log"
   [ -z "$run_reports" ] || "$1" GPUVAL_REPORT "$run_reports"
   [ -z "$run_shaders" ] || "$1" GPUVAL_SHADERS "$run_shaders"
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

# The program as a child, to look at its report afterwards. A shell starts
# background commands with SIGINT ignored and no stdin: both are put back.
run_as_child() # PROGRAM [ARGS]
{
   exec 3<&0
   if env --default-signal=INT true 2>/dev/null; then
      set -- env --default-signal=INT,QUIT -- "$@"
   fi
   "$@" <&3 3<&- &
   child=$!
   trap : INT QUIT # a terminal sends these to the program too
   trap 'kill -TERM $child' TERM
   trap 'kill -HUP $child' HUP
   while :; do
      wait "$child"
      status=$?
      kill -0 "$child" 2>/dev/null || break
   done
   trap - INT QUIT TERM HUP
}

run_with_error_exitcode()
{
   private=$(mktemp -d /tmp/gpuval.XXXXXX) || exit 1
   trap 'rm -rf "$private"' EXIT
   run_reports=$run_reports${run_reports:+,}$private/%p.jsonl
   for_each_variable export_variable
   run_as_child "$@"
   if [ "$status" -eq 0 ] && has_errors "$private"/*.jsonl; then
      status=$run_error_exitcode
   fi
   exit "$status"
}

command_run()
{
   parse_run_options "$@"
   shift "$consumed"
   [ $# -gt 0 ] || usage_error "no program given"
   ensure_setup
   if [ -n "$run_error_exitcode" ]; then
      run_with_error_exitcode "$@"
   fi
   for_each_variable export_variable
   exec "$@"
}

command_env()
{
   parse_run_options "$@"
   shift "$consumed"
   [ $# -eq 0 ] || usage_error "unknown argument '$1'"
   [ -z "$run_error_exitcode" ] || say "--error-exitcode has a meaning for ./gpuval run only"
   ensure_setup
   for_each_variable print_variable
}

help_options()
{
   cat <<EOF
   --checks LIST        checks and sets, comma-separated (default: basic)
   --driver NAME        lavapipe (default) or radv; radv uses the GPU, or none
                        at all when RADV_FORCE_FAMILY is set
   --log FILE           write the text log to FILE (default: stderr)
   --report FILE        write a report when the program ends; FILE ends in
                        .jsonl or .csv (.html: not in this version); may be
                        given several times
   --shaders FILE       check only the shaders that FILE selects
   --printf-prefix      what shaders print (DebugPrintf) begins with the shader
                        and the invocation
EOF
}

help_run()
{
   cat <<EOF
usage: ./gpuval run [options] [--] PROGRAM [ARGS]

Runs a Vulkan program on the patched driver. The exit status is the program's.

$(help_options)
   --error-exitcode N   exit with N when errors were reported and the program
                        itself exited with 0

'%p' in a file name becomes the process id. GPUVAL, GPUVAL_LOG, GPUVAL_REPORT,
GPUVAL_SHADERS and GPUVAL_PRINTF_PREFIX in the environment hold where no option
says otherwise.
EOF
}

help_env()
{
   cat <<EOF
usage: ./gpuval env [options]

Prints "export NAME='VALUE'" lines: eval "\$(./gpuval env)".

$(help_options)
EOF
}
