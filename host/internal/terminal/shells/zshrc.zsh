# zsh reads this in place of the user's .zshrc, see .zshenv.
if [[ -n $__tidemark_user_dir ]]; then
	ZDOTDIR=$__tidemark_user_dir
else
	unset ZDOTDIR
fi
[[ ${HISTFILE-} == $__tidemark_dir/* ]] && HISTFILE=${ZDOTDIR:-$HOME}/${HISTFILE:t}
unset __tidemark_user_dir
[[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && builtin source "${ZDOTDIR:-$HOME}/.zshrc"
builtin source "$__tidemark_dir/integration"
unset __tidemark_dir
