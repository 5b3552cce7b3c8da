"""Tells what a Python has of what polylsp needs: one line of JSON.

Run by the extension, with requirements such as `pygls>=2.0,<3` as arguments. It has to be readable by
old Pythons too, which are told from others by what it prints.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path


def numbers(version):
    """The leading numbers of a version."""
    return tuple(int(each) for each in re.findall(r"\d+", version.split("+")[0])[:3])


def is_met(version, bounds):
    """Whether a version lies within bounds such as `>=2.0,<3`."""
    for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", bounds):
        length = len(numbers(bound))
        here = (*numbers(version), 0, 0, 0)[:length]
        if (here >= numbers(bound)) != (sign == ">="):
            return False
    return True


def is_for_this(marker):
    """Whether a marker such as `python_version < '3.11'` holds for this Python."""
    found = re.search(r"python_version\s*(<|>=)\s*'([\d.]+)'", marker)
    return found is None or (sys.version_info[:2] >= numbers(found.group(2))) == (found.group(1) == ">=")


def lacks(requirement):
    """What is wrong with one requirement, in words; empty where it is met, or is none of this Python."""
    requirement, _, marker = requirement.partition(";")
    if not is_for_this(marker):
        return ""
    name, bounds = re.match(r"([\w-]+)(.*)", requirement).groups()
    if importlib.util.find_spec(name.replace("-", "_")) is None:
        return requirement
    try:
        from importlib.metadata import version

        found = version(name)
    except Exception:
        return ""
    return "" if is_met(found, bounds) else f"{requirement} ({found} is installed)"


def polylsp_version():
    """The version of polylsp that is installed, if it is."""
    spec = importlib.util.find_spec("polylsp")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).read_text()
    found = re.search(r'__version__ = "(.*?)"', text)
    return found.group(1) if found else None


if __name__ == "__main__":
    sys.path.pop(0)
    told = {
        "executable": sys.executable,
        "version": list(sys.version_info[:3]),
        "missing": [each for each in map(lacks, sys.argv[1:]) if each],
        "polylsp": polylsp_version(),
    }
    print(json.dumps(told))
