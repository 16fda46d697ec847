#compdef muster
# zsh completion for muster
_muster() {
	local line
	local -a found
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
		found+=("$line")
	done < <("${(Q)words[1]/#\~/$HOME}" __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
	_describe -V muster found
}
if [[ ${funcstack[1]} == _muster ]]; then
	_muster "$@"
elif (( $+functions[compdef] )); then
	compdef _muster muster
fi
