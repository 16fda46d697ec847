# fish completion for muster
function __muster_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct | string unescape)
	set -l found ($words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
	switch "$found[1]"
		case :files
			__fish_complete_path "$current"
		case :directories
			__fish_complete_directories "$current" ''
		case '*'
			string join \n -- $found
	end
end
complete -c muster -f -a '(__muster_complete)'
