# Tidemark's shell integration for bash 4.4 and later. It reports where commands begin and end, with their exit status
# and directory, as control sequences that terminals do not show. It sets no trap. PROMPT_COMMAND and PS0 keep what they had.
if [[ $- == *i* && -n ${BASH_VERSION-} && -z ${__tidemark_hook-} ]]; then
	__tidemark_hook=__tidemark_prompt
	__tidemark_ran=0 __tidemark_none='' __tidemark_history='' __tidemark_text=''

	# Escapes a text for a report, in __tidemark_escaped.
	__tidemark_escape() {
		__tidemark_escaped=${1//%/%25}
		__tidemark_escaped=${__tidemark_escaped//;/%3B}
		__tidemark_escaped=${__tidemark_escaped//$'\n'/%0A}
		__tidemark_escaped=${__tidemark_escaped//$'\r'/%0D}
		__tidemark_escaped=${__tidemark_escaped//$'\t'/%09}
		__tidemark_escaped=${__tidemark_escaped//$'\e'/%1B}
		__tidemark_escaped=${__tidemark_escaped//$'\a'/%07}
	}

	__tidemark_report() {
		[[ -n ${__tidemark_nonce-} ]] && builtin printf '\e]6973;%s;%s\a' "$__tidemark_nonce" "$1"
	}

	# Takes the end of the history, as a number and a text, apart. Sets how that text is known to be the command that was read last.
	__tidemark_last() {
		text=${1#"${1%%[![:space:]]*}"} # the number, perhaps an asterisk, two spaces, the command
		number=${text%%[!0-9]*}
		text=${text#"$number"}
		text=${text#?}
		text=${text# }
		how=new
		if [[ $number == "$__tidemark_history" && $text == "$__tidemark_text" ]]; then
			how=unsure
			case ":${HISTCONTROL-}:${HISTIGNORE:+ignorespace}:" in
			*:ignorespace:* | *:ignoreboth:*) ;;
			*) how=same ;;
			esac
		fi
	}

	# Prints the directory and the command that begins, in a process of its own.
	__tidemark_begun() {
		local number text how
		__tidemark_last "$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)"
		__tidemark_escape "$PWD"
		builtin printf '%s;' "$__tidemark_escaped"
		__tidemark_escape "$text"
		builtin printf '%s;%s' "$__tidemark_escaped" "$how"
	}

	# Runs before each prompt, first, and returns the status that the command had.
	__tidemark_prompt() {
		local status=$? dir number text how
		if [[ -t 1 ]]; then
			__tidemark_escape "$PWD"
			dir=$__tidemark_escaped
			__tidemark_last "$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)"
			if [[ $__tidemark_ran == 1 ]]; then
				__tidemark_escape "$text"
				__tidemark_report "D;$status;$dir;$how;$__tidemark_escaped"
				builtin printf '\e]133;D;%s\a' "$status"
			fi
			__tidemark_report "P;$dir"
			builtin printf '\e]133;A\a'
			__tidemark_history=$number __tidemark_text=$text
		fi
		__tidemark_ran=0
		return $status
	}

	# PS0 is shown when a command has been read. Its arithmetic remembers that one runs.
	PS0='${__tidemark_none:$((__tidemark_ran=1,0)):0}${__tidemark_nonce:+\e]6973;$__tidemark_nonce;C;$(__tidemark_begun)\a}\e]133;C\a'${PS0-}

	__tidemark_declared=$(builtin declare -p PROMPT_COMMAND 2>/dev/null)
	__tidemark_declared=${__tidemark_declared#declare -}
	__tidemark_declared=${__tidemark_declared%% *} # its attributes
	if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
		precmd_functions=(__tidemark_prompt ${precmd_functions[@]+"${precmd_functions[@]}"})
	elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) && [[ $__tidemark_declared != *x* ]]; then
		# Each element of an array begins with the $? and the PIPESTATUS of the command.
		PROMPT_COMMAND=('${__tidemark_hook-}' ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"})
	else # a hook by a variable: in a shell that inherits PROMPT_COMMAND it is empty
		PROMPT_COMMAND='${__tidemark_hook-}'${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
	fi
	unset __tidemark_declared
fi
