"""``offsettree completion``: a script that lets a shell complete commands, options and their values."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from offsettree.cli._options import add_common_options
from offsettree.cli._output import print_json

__all__ = ["EXAMPLE", "SHELLS", "configure", "script"]

EXAMPLE = "offsettree completion bash > ~/.local/share/bash-completion/completions/offsettree"
SHELLS = ("bash", "zsh", "fish")


class Option(NamedTuple):
    """An option of a command: its spellings, the values that it takes (if they are a list), and its help."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    takes_value: bool
    help: str


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("shell", choices=SHELLS, help="the shell to write the script for")
    add_common_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    text = script(options.shell, options.parsers())
    if options.json:
        print_json({"shell": options.shell, "script": text})
    else:
        print(text, end="")  # noqa: T201
    return 0


def script(shell: str, commands: dict[str, tuple[str, argparse.ArgumentParser]]) -> str:
    """Return the script of a shell, from each command's purpose and parser."""
    described = {name: (purpose, _options(parser), _words(parser)) for name, (purpose, parser) in commands.items()}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](described)


def _options(parser: argparse.ArgumentParser) -> list[Option]:
    found = []
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        values = tuple(str(each) for each in action.choices or ())
        text = " ".join((action.help or "").replace("%%", "%").split())
        found.append(Option(tuple(action.option_strings), values, action.nargs != 0, text))
    return found


def _words(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """Return the values of positional arguments that have a list of them, those of subcommands included."""
    positional = (action for action in parser._actions if not action.option_strings)
    return tuple(str(word) for action in positional for word in action.choices or ())


Described = dict[str, tuple[str, list[Option], tuple[str, ...]]]


def _bash(commands: Described) -> str:
    names = " ".join(commands)
    by_value, by_option, by_word = "", "", ""
    for name, (_, options, words) in commands.items():
        for each in options:
            if each.values:
                by_value += "".join(f"\n        {name}:{n}) {_bash_reply(each.values)}; return ;;" for n in each.names)
        spellings = [spelling for each in options for spelling in each.names]
        by_option += f"\n            {name}) {_bash_reply(spellings)} ;;"
        by_word += f"\n        {name}) {_bash_reply(words)} ;;" if words else ""
    return f"""# bash completion of offsettree
_offsettree() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {shlex.quote(names + " --help --version")} -- "$word"))
        return
    fi
    case "$command:$before" in{by_value}
    esac
    if [[ "$word" == -* ]]; then
        case "$command" in{by_option}
        esac
        return
    fi
    case "$command" in{by_word}
    esac
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _offsettree offsettree
"""


def _bash_reply(words: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(words))} -- "$word"))'


def _zsh(commands: Described) -> str:
    listed = "\n".join(
        f"        {shlex.quote(f'{name}:{_zsh_text(purpose)}')}" for name, (purpose, _, _) in commands.items()
    )
    cases = []
    for name, (_, options, words) in commands.items():
        specs = [spec for each in options for spec in _zsh_specs(each)]
        specs.append(shlex.quote(f"*: :({' '.join(words)})") if words else shlex.quote("*:file:_files"))
        cases.append(f"        {name}) _arguments {' '.join(specs)} ;;")
    joined = "\n".join(cases)
    return f"""#compdef offsettree
# zsh completion of offsettree
_offsettree() {{
    local -a commands
    commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command="$words[2]"
    shift words
    (( CURRENT-- ))
    case "$command" in
{joined}
    esac
}}
if [ "$funcstack[1]" = "_offsettree" ]; then
    _offsettree "$@"
else
    compdef _offsettree offsettree
fi
"""


def _zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _zsh_specs(option: Option) -> list[str]:
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.values)})" if option.values else ":value:_files"
    return [shlex.quote(f"{name}[{_zsh_text(option.help)}]{value}") for name in option.names]


def _fish(commands: Described) -> str:
    lines = ["# fish completion of offsettree"]
    for name, (purpose, options, words) in commands.items():
        lines.append(f"complete -c offsettree -n __fish_use_subcommand -f -a {name} -d {_fish_text(purpose)}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        if words:
            lines.append(f"complete -c offsettree {seen} -f -a {_fish_text(' '.join(words))}")
        for each in options:
            spelled = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in each.names)
            value = f" -x -a {_fish_text(' '.join(each.values))}" if each.values else " -r" * each.takes_value
            lines.append(f"complete -c offsettree {seen} {spelled}{value} -d {_fish_text(each.help)}")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
