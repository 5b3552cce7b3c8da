#!/usr/bin/env bash
# install_neovim.sh FOLDER SUITE: the Neovim of another Debian release, in a folder of its own with its own libc; the
# system stays as it is. FOLDER/nvim starts it. Takes the packages from wherever this machine has its own from.
set -euo pipefail
folder=$(realpath -m "$1") suite=$2
if [[ -x $folder/nvim ]]; then
    exit 0
fi
apt=$folder/apt root=$folder/root
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$root"/usr/{bin,lib,lib64,sbin}
: > "$apt/status"
mirror=$(apt-get indextargets --format "\$(REPO_URI)" | grep -v security | head -1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$apt/sources.list"
cat > "$apt/apt.conf" <<END
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
END
export APT_CONFIG=$apt/apt.conf
apt-get update -qq
apt-get install -y -qq --download-only neovim
(cd "$apt/cache/archives" && apt-get download -qq tree-sitter-{c,markdown,markdown-inline}-src)
for each in bin lib lib64 sbin; do ln -sfn "usr/$each" "$root/$each"; done
for each in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$each" "$root"; done

# Debian ships parsers as sources; without those for Markdown every hover of Neovim is an error.
parsers=$root/usr/share/nvim/runtime/parser
mkdir -p "$parsers"
for name in c markdown markdown_inline; do
    source=$(echo "$root"/usr/src/tree-sitter/$name/*/parser/src)
    gcc -shared -fPIC -O1 -I"$source" -o "$parsers/$name.so" "$source"/*.c
done
rm -rf "$apt" "$root"/usr/{src,share/doc,share/locale,share/man}

cat > "$folder/nvim" <<END
#!/bin/sh
export VIMRUNTIME=$root/usr/share/nvim/runtime
exec $root/usr/lib64/ld-linux-x86-64.so.2 --library-path $root/usr/lib/x86_64-linux-gnu $root/usr/bin/nvim "\$@"
END
chmod +x "$folder/nvim"
"$folder/nvim" --version | head -1
