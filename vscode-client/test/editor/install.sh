#!/usr/bin/env bash
# install.sh FOLDER: a real VS Code for the tests, the one that runs in a browser, and what drives the browser. It is the
# oldest that the extension is for; CODE_SERVER names another one (4.139.1 is VS Code 1.139).
# From the npm registry alone: what wants other downloads (terminal, search, native logs) is left out, and not needed.
set -euo pipefail
version=${CODE_SERVER:-4.100.3}
playwright=1.56.1
mkdir -p "$1" && cd "$1"
if [[ -f ready-$version-$playwright ]]; then
    exit 0
fi
echo '{"private": true}' > package.json
npm install --silent --no-save --ignore-scripts --no-audit --no-fund "code-server@$version" "playwright-core@$playwright"
npm rebuild --silent argon2  # the one native module that the server itself loads
cd node_modules/code-server/lib/vscode
npm install --silent --no-save --ignore-scripts --no-audit --no-fund --omit=dev
(cd extensions && npm install --silent --no-save --ignore-scripts --no-audit --no-fund --omit=dev)
ln -sfn node_modules node_modules.asar
cd - > /dev/null
find . -name '*.map' -delete
touch "ready-$version-$playwright"
