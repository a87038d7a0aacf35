"""``--completion bash``: print the script with which bash completes words at TAB.

    eval "$(python -m attention --completion bash)"      in ~/.bashrc

The words come from the parsers: commands, options, and the values of an option or an
argument, if they are known. Bash itself completes all others, as paths.
"""

import argparse

SHELLS = ("bash",)
# words[COMMAND] are the words after a command, words[COMMAND OPTION] those after an
# option. Bash divides --option=value into three words. After a comma, another name
# begins. The scripts of several modules share the second function.
SCRIPT = """\
_python_m_MODULE() {
    local -A words=(
TABLE
    )
    local here=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}
    local i command=MODULE before="" list
    for ((i = 3; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -* ]] || break
        [[ ${words["$command ${COMP_WORDS[i]}"]+known} ]] || break
        command+=" ${COMP_WORDS[i]}"
    done
    [[ $last != "=" ]] || last=${COMP_WORDS[COMP_CWORD-2]}
    here=${here#=}
    list=${words["$command $last"]-${words["$command"]}}
    [[ $here != *,* ]] || before=${here%,*},
    COMPREPLY=($(compgen -P "$before" -W "$list" -- "${here##*,}"))
}
_python_m() {
    local complete=_python_m_${COMP_WORDS[2]}
    COMPREPLY=()
    [[ ${COMP_WORDS[1]} == -m ]] || return
    ! declare -F "$complete" > /dev/null || "$complete"
}
complete -o default -F _python_m python python3
"""


def script(module, parsers, names):
    """Return the script for ``python -m MODULE``.

    parsers   {command: its parser}, a command of one word or two, or "" for all
    names     {metavar: words} of arguments whose values no parser knows
    """
    table = {}
    for command, parser in parsers.items():
        before = module
        for word in command.split():
            table.setdefault(before, {})[word] = None  # in order, each once
            before += f" {word}"
        _add(table, before, parser, names)
    rows = [f'        ["{key}"]="{" ".join(words)}"' for key, words in table.items()]
    return SCRIPT.replace("MODULE", module).replace("TABLE", "\n".join(rows))


def _add(table, command, parser, names):
    """Add the words of a parser, and of the parsers of its subcommands, to a table."""
    words = table.setdefault(command, {})
    for action in parser._actions:
        values = action.choices or getattr(action.type, "names", ())
        values = dict.fromkeys(map(str, values or names.get(action.metavar, ())))
        options = [x for x in action.option_strings if x.startswith("--")]
        words |= dict.fromkeys(options) or values
        if action.nargs != 0:  # it takes a value
            table |= {f"{command} {option}": values for option in options}
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                _add(table, f"{command} {name}", subparser, names)
