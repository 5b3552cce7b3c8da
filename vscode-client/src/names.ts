// The names of commands, as they stand in package.json.

export const RESTART = 'polylsp.restart';
export const SHOW_LOG = 'polylsp.showLog';
export const OFFLOAD = 'polylsp.offload';
export const WHY = 'polylsp.why';
export const ITERATIONS = 'polylsp.iterations';
export const MEASURE_HERE = 'polylsp.measureHere';
export const TUNE_HERE = 'polylsp.tuneHere';
export const GENERATED = 'polylsp.showGenerated';
export const REPORT = 'polylsp.report';
export const INSTALL = 'polylsp.install';
export const CHOOSE_INTERPRETER = 'polylsp.chooseInterpreter';
export const EXAMPLE = 'polylsp.example';
export const WORKSPACE_REPORT = 'polylsp.workspaceReport';
export const PROFILE_REPORT = 'polylsp.profileReport';
export const OFFLOAD_RANKED = 'polylsp.offloadRanked';
export const MENU = 'polylsp.menu';
export const WALKTHROUGH = 'polylsp.walkthrough';

/** Not in the palette: an edit that is shown first. */
export const APPLY = 'polylsp.apply';

/** The server's own, which applies an action that it has listed. */
export const APPLY_FIX = 'polylsp.applyAction';

/** Those that the server may name in lenses and in links of hovers. */
export const CLIENT_COMMANDS = [WHY, OFFLOAD, APPLY_FIX];
