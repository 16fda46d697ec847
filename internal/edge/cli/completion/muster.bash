# bash completion for muster
_muster() {
	COMPREPLY=()
	local line
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o default 2>/dev/null
			return
			;;
		:directories)
			compopt -o dirnames 2>/dev/null
			return
			;;
		*= | *.) # The word goes on.
			compopt -o nospace 2>/dev/null
			;;
		esac
		COMPREPLY+=("$line")
	done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _muster muster
