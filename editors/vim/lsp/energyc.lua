-- For vim.lsp.enable("energyc"), Neovim 0.11 and newer.
return {
  cmd = { "energyc", "lsp" },
  filetypes = { "energy" },
  root_markers = { "pyproject.toml", ".git" },
}
