# zsh reads this in place of the user's .zshenv, because ZDOTDIR is Tidemark's directory. It reads the user's.
__tidemark_dir=$ZDOTDIR
if [[ -n ${TIDEMARK_ZDOTDIR-} ]]; then
	export ZDOTDIR=$TIDEMARK_ZDOTDIR
else
	unset ZDOTDIR
fi
unset TIDEMARK_ZDOTDIR
[[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && builtin source "${ZDOTDIR:-$HOME}/.zshenv"
if [[ -o interactive ]]; then
	__tidemark_user_dir=${ZDOTDIR-}
	ZDOTDIR=$__tidemark_dir
fi
