-- polylsp in Neovim 0.11 or newer, without plugins.
--
-- To try it:        nvim -u samples/nvim/init-0.11.lua samples/polybench/c/jacobi-1d.c
-- To keep it:       copy this file into your own init.lua.
-- What you get:     a finding beside every loop as you type, and the verdicts as inlay hints; K on a loop's header
--                   tells all that is known of it; gra there offers what can be done to it.
--                   :PolylspOffload lists the rewrites alone, :PolylspRestart starts the analysis anew.
-- What it needs:    the command `polylsp` on your PATH (`pip install polylsp`).

vim.lsp.config('polylsp', {
  cmd = { 'polylsp', 'serve' },
  filetypes = { 'c', 'python' },
  root_markers = { 'compile_commands.json', 'pyproject.toml', '.git' },
  settings = {
    polylsp = {
      -- include_paths = { 'include' },                     -- folders searched for #include files
      -- disabled_diagnostics = { 'sequential-loop' },      -- findings you do not want to see
    },
  },
  on_attach = function(client, buffer)
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
    vim.api.nvim_buf_create_user_command(buffer, 'PolylspOffload', function()
      vim.lsp.buf.code_action({ context = { only = { 'refactor.rewrite' }, diagnostics = {} } })
    end, {})
    vim.api.nvim_buf_create_user_command(buffer, 'PolylspRestart', function()
      client:exec_cmd({ title = 'Restart', command = 'polylsp.restartWorker' }, { bufnr = buffer })
    end, {})
  end,
})
vim.lsp.enable('polylsp')

vim.diagnostic.config({ virtual_text = true }) -- 0.11 shows no text beside the code unless asked to
vim.cmd('filetype on')
