//! Starts `energyc lsp`: the command of the settings, else the one on PATH.

use zed_extension_api::{self as zed, settings::LspSettings};

struct Energyc;

impl zed::Extension for Energyc {
    fn new() -> Self {
        Energyc
    }

    fn language_server_command(
        &mut self,
        id: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let chosen = LspSettings::for_worktree(id.as_ref(), worktree)
            .ok()
            .and_then(|settings| settings.binary);
        let arguments = chosen.as_ref().and_then(|binary| binary.arguments.clone());
        let command = chosen
            .and_then(|binary| binary.path)
            .or_else(|| worktree.which("energyc"))
            .ok_or("energyc is not on PATH: pip install 'energyc[lsp]'")?;
        Ok(zed::Command {
            command,
            args: arguments.unwrap_or_else(|| vec!["lsp".into()]),
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Energyc);
