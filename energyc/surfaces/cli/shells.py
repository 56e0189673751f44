"""Completion in shells: the scripts, and the answer to a TAB.

A script calls ``energyc`` with the words up to the cursor in COMP_WORDS, each ended by a newline, and the name of the
shell in _ENERGYC_COMPLETE; the answer has a candidate a line. A candidate that ends in ``/`` or ``=`` goes on.

click finds the candidates. Its scripts are not used: in bash they lose values behind ``=``, where bash breaks words
(``--preset=h``, ``--data digits=DIR``), and names with blanks.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem, ShellComplete

VARIABLE = "_ENERGYC_COMPLETE"

_BASH = """\
# Completion of energyc in bash. Put this line into ~/.bashrc:
#     eval "$(energyc completion bash)"
# or write it once, for bash-completion:
#     energyc completion bash > ~/.local/share/bash-completion/completions/energyc
_energyc_completion() {
    local IFS=$'\\n' line
    COMPREPLY=()
    while read -r line; do
        COMPREPLY+=("$line")
    done < <(_ENERGYC_COMPLETE=bash COMP_WORDS="${COMP_WORDS[*]:0:COMP_CWORD+1}$IFS" "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _energyc_completion energyc 2>/dev/null || complete -F _energyc_completion energyc
"""

_ZSH = """\
#compdef energyc
# Completion of energyc in zsh. Put this line into ~/.zshrc, after compinit:
#     eval "$(energyc completion zsh)"
# or write it once into a folder of $fpath:
#     energyc completion zsh > ~/.zfunc/_energyc
_energyc_completion() {
    local line typed="${(pj:\\n:)words[1,CURRENT]}"$'\\n'
    local -a whole begun
    for line in "${(@f)$(_ENERGYC_COMPLETE=zsh COMP_WORDS="$typed" ${~words[1]} 2>/dev/null)}"; do
        case $line in
            '') ;;
            *[/=]) begun+=("${line//\\\\:/:}") ;;
            *) whole+=("$line") ;;
        esac
    done
    (( $#whole )) && _describe -V energyc whole
    (( $#begun )) && compadd -S '' -a begun
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _energyc_completion "$@"
else
    compdef _energyc_completion energyc
fi
"""

_FISH = """\
# Completion of energyc in fish. Write it once:
#     energyc completion fish > ~/.config/fish/completions/energyc.fish
function _energyc_completion
    set -l words (commandline -opc) (commandline -ct)
    set -lx COMP_WORDS (string join \\n -- $words | string collect --no-trim-newlines)
    set -lx _ENERGYC_COMPLETE fish
    $words[1] 2>/dev/null
end
complete --no-files --command energyc --arguments '(_energyc_completion)'
"""

#: The script of each shell.
SCRIPTS: Mapping[str, str] = MappingProxyType({"bash": _BASH, "zsh": _ZSH, "fish": _FISH})


def answer(group: click.Group, environ: Mapping[str, str]) -> int:
    """Write the candidates for a TAB; whatever goes wrong, there are none, and the exit status is 1."""
    shell, words = environ[VARIABLE], environ.get("COMP_WORDS", "").split("\n")[:-1]
    try:
        lines = candidates(group, shell, words)
    except Exception:
        return 1
    click.echo("".join(f"{line}\n" for line in lines), nl=False)
    return 0


def candidates(group: click.Group, shell: str, words: list[str]) -> list[str]:
    """Return the candidates for the last word, as ``shell`` takes them."""
    if shell == "bash":
        words = _joined(words)
    *before, typed = words
    incomplete, arguments = _unquoted(typed), [_unquoted(word) for word in before[1:]]
    items = ShellComplete(group, {"obj": arguments}, "energyc", VARIABLE).get_completions(arguments, incomplete)
    option = incomplete[: incomplete.index("=") + 1] if incomplete.startswith("--") and "=" in incomplete else ""
    return [line for item in items if (line := _line(shell, item, option, incomplete))]


def _line(shell: str, item: CompletionItem, option: str, incomplete: str) -> str:
    """A candidate with its description. click's candidates for ``--option=value`` lack the option."""
    value, help_text = option + str(item.value), (item.help or "").partition("\n")[0]
    if "\n" in value:
        return ""
    if shell == "bash":  # which replaces what stands behind its last break of a word
        kept = 1 + max(incomplete.rfind("="), incomplete.rfind(":"))
        return _escaped(value[kept:])
    if shell == "zsh":
        value = value.replace("\\", "\\\\").replace(":", "\\:")
        return f"{value}:{help_text}" if help_text else value
    return f"{value}\t{help_text}" if help_text else value


def _joined(words: list[str]) -> list[str]:
    """Put words together that bash has split at ``=`` and ``:``."""
    joined: list[str] = []
    for k, word in enumerate(words):
        if joined and k > 1 and (word[:1] in ("=", ":") or words[k - 1][-1:] in ("=", ":")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _unquoted(word: str) -> str:
    """A word without the shell's quotes, of which the last may still be open."""
    for text in (word, f'{word}"', f"{word}'"):
        try:
            return "".join(shlex.split(text)[:1])
        except ValueError:
            continue
    return word


def _escaped(value: str) -> str:
    return "".join(f"\\{char}" if char in " \t\"'\\$&;|<>()*?[]{}`!#" else char for char in value)
