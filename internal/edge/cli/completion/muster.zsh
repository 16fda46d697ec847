#compdef muster
# zsh completion for muster
_muster() {
	local line
	local -a found open
	while IFS= read -r line; do
		case $line in
		:files)
			_files
			return
			;;
		:directories)
			_files -/
			return
			;;
		esac
		if [[ ${line%%:*} == *[=.] ]]; then # The word goes on.
			open+=("$line")
		else
			found+=("$line")
		fi
	done < <("${(Q)words[1]/#\~/$HOME}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
	_describe -V muster found
	(( $#open )) && _describe -V muster open -S ''
}
if [[ ${funcstack[1]} == _muster ]]; then
	_muster "$@"
elif (( $+functions[compdef] )); then
	compdef _muster muster
fi
