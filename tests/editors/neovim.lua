-- Run by test_neovim.py inside Neovim with a sample configuration, on a copy of jacobi-1d.c.
local function say(...)
  io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), ' ') .. '\n')
end

-- The limit is for what never comes: a busy machine must not reach it.
local function wait(what, condition)
  local ok = vim.wait(300000, condition, 20)
  say(ok and 'ok' or 'FAIL', what)
  if not ok then
    say(vim.inspect(vim.diagnostic.get(0)))
    error(what)
  end
end

local function line_of(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    if line:find(text, 1, true) then
      return number - 1
    end
  end
  error('no line has ' .. text)
end

local function code_at(line)
  for _, found in ipairs(vim.diagnostic.get(0)) do
    if found.lnum == line then
      return found.code or (found.user_data and found.user_data.lsp and found.user_data.lsp.code)
    end
  end
end

-- Wait until the server has analysed the present text; diagnostics alone may be those of the text before.
local function settle()
  wait('the server has nothing to do', function()
    local asked = { command = 'polylsp.status' }
    for _, each in pairs(vim.lsp.buf_request_sync(0, 'workspace/executeCommand', asked, 5000) or {}) do
      if each.result and each.result.quiescent then
        return true
      end
    end
  end)
end

-- Ask for code actions at a line, and take the one with that title.
local function act(line, title, command)
  settle()
  vim.api.nvim_win_set_cursor(0, { line + 1, vim.fn.getline(line + 1):find('for') - 1 })
  vim.ui.select = function(items, options, choose)
    for _, item in ipairs(items) do
      if options.format_item(item) == title then
        return choose(item)
      end
    end
    error('no action is called ' .. title)
  end
  vim.cmd('let &undolevels = &undolevels') -- what follows is a step of its own for undo
  if command then
    vim.cmd(command)
  else
    vim.lsp.buf.code_action()
  end
end

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

-- What the hover of a line's loop says of times.
local function times(line)
  local asked = { textDocument = vim.lsp.util.make_text_document_params() }
  asked.position = { line = line, character = vim.fn.getline(line + 1):find('for') - 1 }
  for _, each in pairs(vim.lsp.buf_request_sync(0, 'textDocument/hover', asked, 5000) or {}) do
    return each.result and each.result.contents.value:match('original[^\n]*')
  end
end

local function measure(line)
  local outermost = line - 1
  vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
  vim.cmd('PolylspMeasure')
  wait('a measurement is stopped', function()
    vim.cmd('PolylspStop') -- once it has begun
    return vim.fn.execute('messages'):find('The measurement is stopped')
  end)
  vim.cmd('PolylspMeasure n=400 tsteps=10')
  wait('a measurement is shown', function()
    return times(outermost)
  end)
  wait('it is not the one that was stopped', function()
    return not vim.fn.execute('messages'):find('tsteps=%d%d%d')
  end)

  local prompts, last = {}, vim.fn.line('$')
  local loop = '    for (int i = 0; i < n; i++) a[i] = 0;'
  vim.fn.append(last, { 'void fill(int n, double *a)', '{', loop, '}' })
  wait('the loop of another function is found', function()
    return code_at(last + 2) == 'parallel-loop'
  end)
  vim.ui.input = function(options, answer)
    table.insert(prompts, options.prompt)
    answer('5000')
  end
  vim.api.nvim_win_set_cursor(0, { last + 3, 4 })
  vim.cmd('PolylspMeasure')
  wait('sizes that the file does not give are asked for', function()
    return #prompts == 1 and prompts[1]:find('n = ? (as in', 1, true) and times(last + 2)
  end)
  local before = times(last + 2)
  vim.cmd('PolylspMeasure')
  wait('sizes are asked for once', function()
    return times(last + 2) ~= before and #prompts == 1
  end)
  vim.fn.deletebufline('%', last + 1, last + 4)
end

local function report()
  local here = vim.api.nvim_get_current_win()
  vim.cmd('PolylspReport jacobi-1d.c')
  wait('the report lists loops', function()
    local first = vim.fn.getqflist()[1]
    return first and first.lnum > 0 and first.text:find('parallel')
  end)
  vim.cmd('cclose')
  vim.api.nvim_set_current_win(here)
end

local function main()
  local stencil = line_of('B[i] = ')
  local header = stencil - 1
  wait('a parallel loop is found', function()
    return code_at(header) == 'parallel-loop'
  end)
  say('found', #vim.diagnostic.get(0))

  vim.api.nvim_win_set_cursor(0, { header + 1, vim.fn.getline(header + 1):find('for') - 1 })
  vim.lsp.buf.hover()
  local float
  wait('hover opens', function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        float = window
      end
    end
    return float ~= nil
  end)
  local shown = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float), 0, -1, false), '\n')
  wait('hover tells the verdict', function()
    return shown:find('parallel') ~= nil
  end)
  vim.api.nvim_win_close(float, true)

  wait('the hover holds no image', function()
    return shown:find('data:image', 1, true) == nil
  end)
  if vim.lsp.inlay_hint and vim.fn.has('nvim-0.10') == 1 then
    wait('hints tell the verdicts', function()
      for _, hint in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
        local told = hint.inlay_hint
        if told.position.line == header and told.label:find('parallel') then
          return true
        end
      end
    end)
  end

  local plain_header = vim.fn.getline(header + 1)
  vim.fn.setline(header + 1, '/* größer 😀 */ ' .. plain_header)
  wait('a finding stands where it should after letters that are wide', function()
    for _, found in ipairs(vim.diagnostic.get(0)) do
      if found.lnum == header and found.col == vim.fn.getline(header + 1):find('for', 1, true) - 1 then
        return found.end_col == #vim.fn.getline(header + 1)
      end
    end
  end)
  vim.fn.setline(header + 1, plain_header)

  local before = vim.fn.getline(stencil + 1)
  vim.fn.setline(stencil + 1, (before:gsub('A%[i %- 1%]', 'B[i - 1]')))
  wait('the edit makes it sequential', function()
    return code_at(header) == 'sequential-loop'
  end)
  vim.fn.append(0, '/* one line more */')
  wait('findings move with the text', function()
    return code_at(header + 1) == 'sequential-loop'
  end)
  vim.fn.setline(stencil + 2, before)
  wait('undone, it is parallel again', function()
    return code_at(header + 1) == 'parallel-loop'
  end)

  local plain = lines()
  act(header + 1, 'Run `i` in parallel with OpenMP (starts threads in each iteration of `t`)')
  wait('a code action writes a directive', function()
    return vim.fn.getline(header + 2):find('#pragma omp parallel for') ~= nil
  end)
  vim.cmd('undo')
  wait('undo takes it back in one step', function()
    return lines() == plain
  end)

  wait('the loop is parallel as before', function()
    return code_at(header + 1) == 'parallel-loop'
  end)
  act(header + 1, 'Run `i` in parallel with OpenACC', 'PolylspOffload')
  wait('a command lists the rewrites', function()
    return vim.fn.getline(header + 2):find('#pragma acc parallel loop') ~= nil
  end)
  vim.cmd('undo')
  wait('and that is undone too', function()
    return lines() == plain and code_at(header + 1) == 'parallel-loop'
  end)
  vim.cmd('PolylspRestart')
  settle()
  if vim.env.POLYLSP_MEASURES then
    measure(header + 1)
  end
  report()
  act(header + 1, 'Ignore `parallel-loop` on line ' .. header + 2)
  wait('a finding is ignored', function()
    return vim.fn.getline(header + 2):find('polylsp: ignore') ~= nil and code_at(header + 2) == nil
  end)
end

local ok, message = xpcall(main, debug.traceback)
if not ok then
  io.stderr:write(message .. '\n')
  vim.cmd('cquit 1')
end
vim.cmd('qall!')
