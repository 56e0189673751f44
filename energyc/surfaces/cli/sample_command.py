"""``energyc sample``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import SEED, Finite, device_option, output_options, run_argument


@click.command("sample")
@run_argument
@click.option("--prompt", metavar="TEXT", default="", help="The beginning of the text.")
@click.option("--length", metavar="N", type=click.IntRange(min=1), default=400, help="Number of characters to draw.")
@click.option("--temperature", metavar="X", type=Finite(min=0), default=1.0, help="0 takes the most likely.")
@click.option("--seed", metavar="N", type=SEED, default=0, help="The random seed.")
@device_option
@output_options
def command(run: str, prompt: str, length: int, temperature: float, seed: int, device: str, console: Console) -> None:
    """Draw text from the language model of RUN, at its best checkpoint."""
    from energyc.running.runs.sample import sample

    drawn = sample(
        Path(run), prompt, length=length, temperature=temperature, seed=seed, device=device, notify=console.note
    )
    if console.is_json:
        console.write_json({"run": run, "step": drawn.step, "prompt": prompt, "text": "".join(drawn.characters)})
        return
    console.note(f"the best checkpoint, of step {drawn.step}")
    click.echo(prompt, nl=False)
    for character in drawn.characters:
        click.echo(character, nl=False)
    click.echo()
