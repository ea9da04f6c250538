"""``tpushape completion``: a shell script, generated from the parser."""

from __future__ import annotations

import argparse
from typing import Any

from .out import written

SHELLS = ("bash", "zsh", "fish")


def completion(options: Any) -> int:
    """Prints the script; the user's startup file sources it."""
    words = _words(options.parser)
    written({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](words), "program")
    return 0


Words = dict[str, dict[str, tuple[str, ...] | None]]


def _words(parser: argparse.ArgumentParser) -> Words:
    from ..replicas import SLICES
    from ..rules import rules

    values = {"--tpu": (*SLICES, "none", "auto"), "rule": tuple(rule.id for rule in rules())}
    found: Words = {}
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for name, command in action.choices.items():
            taken: dict[str, tuple[str, ...] | None] = {}
            for option in command._actions:
                known = values.get(option.dest) or next((values[text] for text in option.option_strings if text in values), None)
                choices = known or tuple(map(str, option.choices or ()))
                for text in option.option_strings or ([""] if choices else []):
                    taken[text] = None if option.nargs == 0 else choices
            found[name] = taken
    return found


def _bash(words: Words) -> str:
    cases = []
    for name, taken in words.items():
        values = "".join(
            f'        {option}) COMPREPLY=($(compgen -W "{" ".join(known)}" -- "$word")); return ;;\n' for option, known in taken.items() if option and known
        )
        plain = " ".join([*(option for option in taken if option), *(taken.get("") or ())])
        cases.append(
            f'    {name})\n      case "$before" in\n{values}        *) ;;\n      esac\n      COMPREPLY=($(compgen -W "{plain}" -- "$word") $(compgen -f -- "$word")) ;;'
        )
    body = "\n".join(cases)
    return f"""# tpushape: put `eval "$(tpushape completion bash)"` into ~/.bashrc
_tpushape() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(words)} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{body}
  esac
}}
complete -o filenames -F _tpushape tpushape"""


def _zsh(words: Words) -> str:
    return f"""# tpushape: put `eval "$(tpushape completion zsh)"` into ~/.zshrc
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
{_bash(words)}"""


def _fish(words: Words) -> str:
    lines = ["# tpushape: put `tpushape completion fish | source` into ~/.config/fish/config.fish"]
    lines.append(f'complete -c tpushape -n __fish_use_subcommand -a "{" ".join(words)}"')
    for name, taken in words.items():
        where = f"complete -c tpushape -n '__fish_seen_subcommand_from {name}'"
        for option, known in taken.items():
            values = f' -a "{" ".join(known)}"' if known else ""
            if option.startswith("--"):
                lines.append(f"{where} -l {option[2:]}{'' if known is None else ' -r'}{values}")
            elif not option:
                lines.append(f"{where}{values}")
    return "\n".join(lines)
