-- polylsp in Neovim 0.11 or newer, without plugins.
--
-- To try it:        nvim -u samples/nvim/init-0.11.lua samples/polybench/c/jacobi-1d.c
-- To keep it:       copy this file into your own init.lua.
-- What you get:     a finding beside every loop as you type, and the verdicts as inlay hints; K on a loop's header
--                   tells all that is known of it; gra there offers what can be done to it.
--                   :PolylspOffload lists the rewrites alone, :PolylspRestart starts the analysis anew.
--                   :PolylspMeasure n=2000 runs the function around the cursor, as it stands and rewritten
--                   (sizes that the file does not give are asked for); :PolylspStop ends that. :PolylspReport lists the loops
--                   of the project that would gain most by running in parallel (or those of a file or a folder).
-- What it needs:    the command `polylsp` on your PATH (`pip install polylsp`).

-- `n=2000 m=500` as a table.
local function sizes_of(words)
  local sizes = vim.empty_dict()
  for name, value in words:gmatch('([%a_][%w_]*)=(%d+)') do
    sizes[name] = tonumber(value)
  end
  return sizes
end

local measuring -- the number of the request that is under way

-- Measure a loop. Sizes that nothing in the file gives are asked for once: the server remembers them.
local function measure_loop(client, buffer, loop)
  local wish = { command = 'polylsp.measure', arguments = { loop } }
  local _, number = client:request('workspace/executeCommand', wish, function(problem, answer)
    measuring = nil
    if problem then
      return vim.notify(problem.message, vim.log.levels.WARN)
    end
    if type(answer) == 'table' and answer.asks then
      local prompt = table.concat(answer.asks, ', ') .. ' = ? (as in ' .. answer.asks[1] .. '=2000; empty: chosen) '
      vim.ui.input({ prompt = prompt }, function(words)
        if words then
          local is_number = #answer.asks == 1 and words:match('^%s*%d+%s*$')
          loop.sizes = sizes_of(is_number and answer.asks[1] .. '=' .. vim.trim(words) or words)
          measure_loop(client, buffer, loop)
        end
      end)
    end
  end, buffer)
  measuring = number
end

local function measure(client, buffer, words)
  local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
  client:request('polylsp/loopAt', place, function(_, loop)
    if not loop then
      return vim.notify('There is no loop here: put the cursor on one.')
    end
    loop.asks = true
    loop.sizes = words ~= '' and sizes_of(words) or nil
    measure_loop(client, buffer, loop)
  end, buffer)
end

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
    vim.api.nvim_buf_create_user_command(buffer, 'PolylspMeasure', function(given)
      measure(client, buffer, given.args)
    end, { nargs = '*' })
    vim.api.nvim_buf_create_user_command(buffer, 'PolylspStop', function()
      if measuring then
        client:cancel_request(measuring)
        measuring = nil
        vim.notify('The measurement is stopped.')
      end
    end, {})
    vim.api.nvim_buf_create_user_command(buffer, 'PolylspRestart', function()
      client:exec_cmd({ title = 'Restart', command = 'polylsp.restartWorker' }, { bufnr = buffer })
    end, {})
  end,
})
vim.lsp.enable('polylsp')

-- The loops of the project that would gain most by running in parallel, as the quickfix list.
vim.api.nvim_create_user_command('PolylspReport', function(given)
  local folder = given.args ~= '' and given.args or vim.fn.getcwd()
  vim.system({ 'polylsp', 'report', '--format', 'json', folder }, { text = true }, vim.schedule_wrap(function(done)
    local read, report = pcall(vim.json.decode, done.stdout or '')
    if not read then
      return vim.notify('polylsp report: ' .. (done.stderr or ''), vim.log.levels.WARN)
    end
    local items = {}
    for _, loop in ipairs(report.loops) do
      local text = ('%d. `%s` in %s: %s'):format(loop.rank, tostring(loop.iterator), loop['function'], loop.verdict)
      table.insert(items, {
        filename = loop.path,
        lnum = loop.range.start.line + 1,
        col = loop.range.start.character + 1,
        text = type(loop.condition) == 'string' and text .. ' if ' .. loop.condition or text,
      })
    end
    vim.fn.setqflist({}, ' ', { title = 'polylsp report', items = items })
    vim.cmd('copen')
  end))
end, { nargs = '?', complete = 'file' })

-- 0.11 shows no text beside the code unless asked to; verdicts are beside it already, as inlay hints.
vim.diagnostic.config({ virtual_text = { severity = { min = vim.diagnostic.severity.WARN } } })
vim.cmd('filetype on')
