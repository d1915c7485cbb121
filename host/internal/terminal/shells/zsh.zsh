# Tidemark's shell integration for zsh. It reports where commands begin and end, with their exit status and directory, as
# control sequences that terminals do not show. Other hooks keep working.
if [[ -o interactive && -z ${__tidemark_hook-} ]]; then
	typeset -g __tidemark_hook=1 __tidemark_ran=0 __tidemark_escaped='' __tidemark_text=''

	# Escapes a text for a report, in __tidemark_escaped.
	__tidemark_escape() {
		emulate -L zsh
		local text=${1//\%/%25}
		text=${text//;/%3B}
		text=${text//$'\n'/%0A}
		text=${text//$'\r'/%0D}
		text=${text//$'\t'/%09}
		text=${text//$'\e'/%1B}
		__tidemark_escaped=${text//$'\a'/%07}
	}

	__tidemark_report() {
		[[ -n ${__tidemark_nonce-} ]] && builtin printf '\e]6973;%s;%s\a' "$__tidemark_nonce" "$1"
	}

	__tidemark_preexec() {
		local dir
		__tidemark_ran=1
		[[ -t 1 ]] || return 0
		__tidemark_escape "$PWD"
		dir=$__tidemark_escaped
		__tidemark_escape "${1:-$3}"
		__tidemark_text=$__tidemark_escaped
		__tidemark_report "C;$dir;$__tidemark_text"
		builtin printf '\e]133;C\a'
	}

	__tidemark_prompt() {
		local status_before=$?
		if [[ -t 1 ]]; then
			__tidemark_escape "$PWD"
			if [[ $__tidemark_ran == 1 ]]; then
				__tidemark_report "D;$status_before;$__tidemark_escaped;;$__tidemark_text"
				builtin printf '\e]133;D;%s\a' $status_before
			fi
			__tidemark_report "P;$__tidemark_escaped"
			builtin printf '\e]133;A\a'
		fi
		__tidemark_ran=0 __tidemark_text=''
		return $status_before
	}

	typeset -ga precmd_functions preexec_functions
	precmd_functions=(__tidemark_prompt $precmd_functions)
	preexec_functions+=(__tidemark_preexec)
fi
