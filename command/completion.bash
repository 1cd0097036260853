# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# bash completion of ./gpuval, printed by `gpuval completion bash`.

_gpuval_checks='assume assert printf bounds descriptor address indirect vertex ray array arithmetic
   undefined nan export loop mesh converge sync sync-compute shared race init internal basic shader
   concurrency residency all'

# What an installation does not have
_gpuval_source_commands='setup test bench dist install'

_gpuval_options() # COMMAND
{
   local run='--checks --driver --log --report --coverage --shaders --suppressions --source-map
      --hang-time --backtrace --breadcrumbs --gen-suppressions --progress --printf-prefix --gl'
   case $1 in
   setup) echo '--mesa --mesa-src --no-install' ;;
   doctor) echo --collect ;;
   dist) echo --output ;;
   install) echo --prefix ;;
   run) echo "$run --error-exitcode" ;;
   env) echo "$run" ;;
   test) echo '--mesa --all --quick --suite' ;;
   anygpu)
      echo '--checks --report --log --buffer --uniform --push --groups --dispatches --barriers
         --sequence --time --rounds --as-is --entry --device --write-spv --print-program'
      ;;
   report) echo '--output --baseline --coverage --root --source-map --error-exitcode' ;;
   esac
   echo '--help'
}

_gpuval_words() # CURRENT WORD...
{
   local word
   for word in "${@:2}"; do
      [[ $word != "$1"* ]] || COMPREPLY+=("$word")
   done
}

# Names behind the last comma; one with - in front takes away.
_gpuval_list() # CURRENT
{
   local before='' last=$1 name
   if [[ $1 == *,* ]]; then
      before=${1%,*},
      last=${1##*,}
   fi
   if [[ $last == -* ]]; then
      before+=-
      last=${last#-}
   fi
   for name in $_gpuval_checks; do
      [[ $name != "$last"* ]] || COMPREPLY+=("$before$name")
   done
   compopt -o nospace 2>/dev/null
}

_gpuval_files() # CURRENT
{
   local name
   while read -r name; do
      COMPREPLY+=("$name")
   done < <(compgen -f -- "$1")
   compopt -o filenames 2>/dev/null
}

_gpuval()
{
   local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
   local command=${COMP_WORDS[1]} i
   COMPREPLY=()

   if [ "$COMP_CWORD" -eq 1 ]; then
      # shellcheck disable=SC2086 # words
      _gpuval_words "$current" run demo anygpu report explain env doctor completion \
         $_gpuval_source_commands --help --version
      return
   fi
   # The program that is run has its own.
   for ((i = 2; i < COMP_CWORD; i++)); do
      if [ "$command" = run ] && [ "${COMP_WORDS[i]}" = -- ]; then
         if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
         else
            _gpuval_files "$current"
         fi
         return
      fi
   done

   # bash breaks --option=value into three.
   if [ "$previous" = = ]; then
      previous=${COMP_WORDS[COMP_CWORD - 2]}
   elif [ "$current" = = ]; then
      current=
   fi
   case $previous in
   --checks) _gpuval_list "$current" ;;
   --driver) _gpuval_words "$current" lavapipe radv ;;
   --log) _gpuval_words "$current" stderr stdout && _gpuval_files "$current" ;;
   --error-exitcode) ;;
   --report | --coverage | --shaders | --suppressions | --mesa-src | --output | -o | --baseline | --root | \
      --collect | --prefix)
      _gpuval_files "$current"
      ;;
   *)
      if [ "$command" = completion ]; then
         _gpuval_words "$current" bash zsh fish
      elif [[ $current == -* ]]; then
         # shellcheck disable=SC2046 # words
         _gpuval_words "$current" $(_gpuval_options "$command")
      else
         _gpuval_files "$current"
      fi
      ;;
   esac
}

complete -F _gpuval gpuval ./gpuval
