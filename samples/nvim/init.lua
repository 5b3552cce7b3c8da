-- polylsp in Neovim 0.7 or newer, without plugins. From 0.11 on init-0.11.lua is shorter.
--
-- To try it:        nvim -u samples/nvim/init.lua samples/polybench/c/jacobi-1d.c
-- To keep it:       copy this file into your own init.lua.
-- What you get:     a finding beside every loop as you type; K on a loop's header tells all that is
--                   known of it; gra there offers what can be done to it, such as the directive that
--                   runs it in parallel; from Neovim 0.10 on also the verdicts as inlay hints.
--                   :PolylspOffload lists the rewrites alone, :PolylspRestart starts the analysis anew.
--                   :PolylspMeasure n=2000 runs the function around the cursor, as it stands and rewritten
--                   (sizes that the file does not give are asked for); :PolylspStop ends that.
--                   :PolylspReport lists the loops of the project that would gain most by running in parallel.
-- What it needs:    the command `polylsp` on your PATH (`pip install polylsp`).

local settings = {
  polylsp = {
    -- include_paths = { 'include' },                     -- folders searched for #include files
    -- disabled_diagnostics = { 'sequential-loop' },      -- findings you do not want to see
  },
}

local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local found = vim.fn.findfile('compile_commands.json', folder .. ';')
  return found ~= '' and vim.fn.fnamemodify(found, ':p:h') or folder
end

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
  local _, number = client.request('workspace/executeCommand', wish, function(problem, answer)
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
  client.request('polylsp/loopAt', place, function(_, loop)
    if not loop or loop == vim.NIL then
      return vim.notify('There is no loop here: put the cursor on one.')
    end
    loop.asks = true
    loop.sizes = words ~= '' and sizes_of(words) or nil
    measure_loop(client, buffer, loop)
  end, buffer)
end

local function on_attach(client, buffer)
  vim.keymap.set('n', 'K', vim.lsp.buf.hover, { buffer = buffer })
  vim.keymap.set('n', 'gra', vim.lsp.buf.code_action, { buffer = buffer }) -- as from 0.11 on everywhere
  if vim.lsp.inlay_hint and vim.fn.has('nvim-0.10') == 1 then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
  local function command(name, run, options)
    vim.api.nvim_buf_create_user_command(buffer, name, run, options or {})
  end
  command('PolylspOffload', function()
    vim.lsp.buf.code_action({ context = { only = { 'refactor.rewrite' }, diagnostics = {} } })
  end)
  command('PolylspMeasure', function(given)
    measure(client, buffer, given.args)
  end, { nargs = '*' })
  command('PolylspStop', function()
    if measuring then
      client.cancel_request(measuring)
      measuring = nil
      vim.notify('The measurement is stopped.')
    end
  end)
  command('PolylspRestart', function()
    client.request('workspace/executeCommand', { command = 'polylsp.restartWorker' }, nil, buffer)
  end)
end

-- The loops of a file or a folder that would gain most by running in parallel, as the quickfix list.
local function list_report(output)
  local read, report = pcall(vim.fn.json_decode, output)
  if not read then
    return vim.notify('polylsp report failed: try it in a terminal.', vim.log.levels.WARN)
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
end

vim.cmd([[command! -nargs=? -complete=file PolylspReport lua PolylspReport(<q-args>)]])
function PolylspReport(path)
  local folder = path ~= '' and path or vim.fn.getcwd()
  vim.fn.jobstart({ 'polylsp', 'report', '--format', 'json', folder }, {
    stdout_buffered = true,
    on_stdout = function(_, lines)
      list_report(table.concat(lines, '\n'))
    end,
  })
end

local clients = {} -- the client of each root, for Neovim 0.7, which does not keep them itself

local function start(buffer)
  local root = root_of(vim.api.nvim_buf_get_name(buffer))
  local config = {
    name = 'polylsp',
    cmd = { 'polylsp', 'serve' },
    root_dir = root,
    settings = settings,
    init_options = { settings = settings.polylsp },
    on_attach = on_attach,
  }
  if vim.lsp.start then -- 0.8 and newer
    vim.lsp.start(config)
  else
    clients[root] = clients[root] or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = { 'c', 'python' },
  callback = function(event)
    start(event.buf)
  end,
})
vim.cmd('filetype on')
