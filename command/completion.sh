# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval completion`: scripts that complete the command in shells. That of zsh is
# bash's.

command_completion()
{
   [ $# -eq 1 ] || usage_error "it takes the name of a shell: bash, zsh or fish"
   case $1 in
   bash) complete_bash ;;
   zsh)
      echo 'autoload -Uz compinit bashcompinit && compinit -u && bashcompinit'
      complete_bash
      ;;
   fish) complete_fish ;;
   *) usage_error "'$1' is not bash, zsh or fish" ;;
   esac
}

complete_bash()
{
   if is_installed; then
      sed "s/^_gpuval_source_commands=.*/_gpuval_source_commands=/" "$rooms/completion.bash"
   else
      cat "$rooms/completion.bash"
   fi
}

# From what each command's --help says
complete_fish()
{
   commands='run demo anygpu report explain env doctor completion'
   optioned='run anygpu report env doctor'
   if ! is_installed; then
      commands="$commands $source_commands"
      optioned="$optioned setup test dist install"
   fi
   seen="not __fish_seen_subcommand_from $commands"
   echo 'complete -c gpuval -f'
   for name in $commands; do
      echo "complete -c gpuval -n '$seen' -a $name"
   done
   for name in $optioned; do
      "$root/gpuval" "$name" --help | sed -n 's/^   \(-o, \)\{0,1\}--\([a-z-]*\) *\([A-Z]*\).*/\2 \3/p' |
         while read -r option value; do
            echo "complete -c gpuval -n '__fish_seen_subcommand_from $name' -l $option${value:+ -r -F}"
         done
   done
   echo "complete -c gpuval -n '__fish_seen_subcommand_from run report' -F"
}

help_completion()
{
   cat <<EOF
usage: ./gpuval completion bash|zsh|fish

Prints a script that completes the arguments of this command, for a shell's start-up
file:

   eval "\$(/path/to/gpuval completion bash)"
   /path/to/gpuval completion fish | source
EOF
}
