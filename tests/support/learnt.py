"""What a policy allows that `jpeer policy suggest` has learnt, held against the lines `used` of the audit.

A rule allows names that differ from the used one in case only (docs/policy.md, "Patterns"), and the classes that the JVM makes
have a rule for all of one kind; nothing else is allowed that was not used.
"""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from support.peer import BINARY, START_SECONDS

RULE = re.compile(r'  - class: "(.*)"\n    method: "(.*)"\n    action: ALLOW\n    channel: \[(.*)\]\n    members: \[(.*)\]\n'
                  r'    visibility: \[(.*)\]\n')
HEAD = "# What clients have used, by jpeer policy suggest. Review it before it is enforced.\nversion: 1\ndefaultAction: DENY\nrules:\n"
NOTE = "  # The JVM makes this class, with another name in each run.\n"
GENERATED = re.compile(r"\$\$Lambda[$/]|/0x|(?:^|\.)\$Proxy\d+$")


def suggest(*audits):
    done = subprocess.run([BINARY, "policy", "suggest", *audits], capture_output=True, text=True, check=False,
                          timeout=START_SECONDS)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def used_members(*audits):
    """The uses that the audits note: (class, member, channel, kind, visibility)."""
    lines = (json.loads(line) for audit in audits for line in audit.read_text(encoding="utf-8").splitlines())
    return {tuple(line[name] for name in ("class", "member", "channel", "kind", "visibility"))
            for line in lines if line["event"] == "used"}


def members_of(classes, class_path):
    """(class, member) of everything that these classes declare, and the names that a policy has for the class itself."""
    path = ["-cp", class_path] if class_path else []
    done = subprocess.run(["javap", "-p", *path, *classes], capture_output=True, text=True, check=False, timeout=START_SECONDS)
    found, name = set(), None
    for line in done.stdout.splitlines():
        declared = re.match(r"(?:\w.* )?(?:class|interface) ([\w.$]+)", line)
        member = re.match(r"  .*?([\w.$]+)(?:\(.*\).*)?;$", line)
        if declared:
            name = declared[1]
            found |= {(name, each) for each in ("<init>", "class", "[]", "length")}
        elif member:
            found.add((name, "<init>" if member[1] == name else member[1]))
    lacking = set(classes) - {name for name, _ in found}
    assert not lacking, f"javap has not found {lacking}: {done.stderr}"
    return found


def explain(policy, name, member):
    """What the loaded policy allows of a member: {(class, member, channel, kind, visibility)}."""
    done = subprocess.run([BINARY, "policy", "explain", policy, f"{name}.{member}"], capture_output=True, text=True, check=False,
                          timeout=START_SECONDS)
    assert done.returncode == 0, done.stderr
    allowed, channels, is_allowed = set(), [], False
    for line in done.stdout.splitlines():
        if " via " in line:
            channels = line.rpartition(" via ")[2].split(", ")
        elif line.startswith("  ALLOW ") or line.startswith("  DENY "):
            is_allowed = line.startswith("  ALLOW ")
        elif is_allowed:
            for part in line.strip().removeprefix("for ").split("; "):
                kinds, _, visibilities = part.partition(": ")
                allowed |= {(name, member, channel, kind, visibility) for channel in channels for kind in kinds.split(", ")
                            for visibility in visibilities.split(", ")}
    return allowed


def check(policy, audits, class_path=""):
    """Fails unless the file allows what was used and nothing else, by its rules and by what `jpeer policy explain` says of each
    member of the classes that it names. Returns the number of members that it has asked about."""
    used = {each for each in used_members(*audits) if not GENERATED.search(each[0])}
    assert used, "the audits note no use"
    text = policy.read_text(encoding="utf-8")
    ruled = {(*rule[:2], channel, kind, visibility) for rule in RULE.findall(text) if not rule[0].endswith("*")
             for channel in rule[2].split(", ") for kind in rule[3].split(", ") for visibility in rule[4].split(", ")}
    assert RULE.sub("", text.replace(NOTE, "")) == HEAD, RULE.sub("", text.replace(NOTE, ""))
    assert ruled == used, f"allowed and not used: {sorted(ruled - used)}; used and not allowed: {sorted(used - ruled)}"
    asked = members_of(sorted({name for name, *_ in used}), class_path) | {each[:2] for each in used}
    with ThreadPoolExecutor(2) as pool:
        allowed = set().union(*pool.map(lambda each: explain(policy, *each), sorted(asked)))
    any_case = {tuple(each.lower() for each in use) for use in used}
    assert used <= allowed, f"used and denied: {sorted(used - allowed)}"
    more = {each for each in allowed if tuple(part.lower() for part in each) not in any_case}
    assert not more, f"allowed and not used: {sorted(more)}"
    return len(asked)
