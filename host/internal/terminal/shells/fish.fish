# Tidemark's shell integration for fish. It reports where commands begin and end, with their exit status and directory, as
# control sequences that terminals do not show.
if status is-interactive; and not set -q __tidemark_hook
    set -g __tidemark_hook 1

    # fish emits the marks of OSC 133 itself since version 4.
    if test (string match -r '^\d+' -- $version) -lt 4
        set -g __tidemark_marks 1
    end

    function __tidemark_mark
        if set -q __tidemark_marks; and test -t 1
            builtin printf '\e]133;%s\a' $argv[1]
        end
    end

    # Escapes the directory for a report, in __tidemark_dir. It rarely changes.
    function __tidemark_escape_dir
        if test "$PWD" != "$__tidemark_pwd"
            set -g __tidemark_pwd $PWD
            set -g __tidemark_dir (string escape --style=url -- $PWD)
        end
    end

    function __tidemark_report
        if set -q __tidemark_nonce; and test -t 1
            builtin printf '\e]6973;%s;%s\a' $__tidemark_nonce $argv[1]
        end
    end

    function __tidemark_preexec --on-event fish_preexec
        __tidemark_escape_dir
        __tidemark_report "C;$__tidemark_dir;"(string escape --style=url -- "$argv[1]")
        __tidemark_mark C
    end

    function __tidemark_postexec --on-event fish_postexec
        set -l before $status
        __tidemark_escape_dir
        __tidemark_report "D;$before;$__tidemark_dir;;"(string escape --style=url -- "$argv[1]")
        __tidemark_mark "D;$before"
    end

    function __tidemark_prompt --on-event fish_prompt
        __tidemark_escape_dir
        __tidemark_report "P;$__tidemark_dir"
        __tidemark_mark A
    end
end
