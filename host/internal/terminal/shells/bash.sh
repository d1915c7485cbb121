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

	# Runs before each prompt, first, and returns the status that the command had.
	__tidemark_prompt() {
		local status=$? dir entry number text how=new
		if [[ -t 1 ]]; then
			__tidemark_escape "$PWD"
			dir=$__tidemark_escaped
			entry=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)
			text=${entry#"${entry%%[![:space:]]*}"} # the number, perhaps an asterisk, two spaces, the command
			number=${text%%[!0-9]*}
			text=${text#"$number"}
			text=${text#?}
			text=${text# }
			if [[ $__tidemark_ran == 1 ]]; then
				if [[ $number == "$__tidemark_history" && $text == "$__tidemark_text" ]]; then
					how=unsure
					case ":${HISTCONTROL-}:${HISTIGNORE:+ignorespace}:" in
					*:ignorespace:* | *:ignoreboth:*) ;;
					*) how=same ;;
					esac
				fi
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

	# PS0 is shown when a command has been read. Its arithmetic remembers that one runs, without a process.
	PS0='${__tidemark_none:$((__tidemark_ran=1,0)):0}${__tidemark_nonce:+\e]6973;$__tidemark_nonce;C\a}\e]133;C\a'${PS0-}

	if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
		precmd_functions=(__tidemark_prompt ${precmd_functions[@]+"${precmd_functions[@]}"})
	elif [[ "$(builtin declare -p PROMPT_COMMAND 2>/dev/null)" == 'declare -'*a* ]]; then
		PROMPT_COMMAND=('${__tidemark_hook-}' "${PROMPT_COMMAND[@]}")
	else # a hook by a variable: in a shell that inherits PROMPT_COMMAND it is empty
		PROMPT_COMMAND='${__tidemark_hook-}'${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
	fi
fi
