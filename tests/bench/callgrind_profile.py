"""Instructions by what they are for, from a file of callgrind's.

Each instruction counts for the source file and function that it is in. What is in no file
of ours (memcpy, malloc, a vector's growth, xxHash) counts for its caller, in
proportion to what each caller spent there; an inlined line of a header that is not ours,
for the function around it. What was spent on a hash for somebody says so: "file function #".
"""
import collections
import re

OURS = re.compile(r"(?:^|/)((?:protocol|storage|cluster|node)/[\w./-]+)$")
# Ours, but so general that only its caller says what it was for.
GENERAL = re.compile(r"^protocol/(keyed_hash\.(h|cpp)|ids\.h|instant\.h|include/quipu/status\.h)$")
KINDS = {"ob": "ob", "cob": "ob", "fl": "fl", "fi": "fl", "fe": "fl", "cfi": "fl", "cfl": "fl",
         "fn": "fn", "cfn": "fn"}


HASH = re.compile(r"XXH|quipu::hash(64|128)|quipu::Placement::Placement")


def own_file(path):
    found = OURS.search(path)
    return found.group(1) if found and not GENERAL.match(found.group(1)) else None


def short(function):
    """Without its parameters."""
    return function.replace("(anonymous namespace)::", "").replace("operator()", "operator").split("(")[0]


class Profile:
    def __init__(self, path):
        self.names = collections.defaultdict(dict)
        self.spent = collections.Counter()  # by (function, line's file)
        self.calls = collections.defaultdict(collections.Counter)  # callee: by (caller, file)
        self.files = {}  # of functions
        self.shares = {}
        with open(path) as lines:
            self.read(lines)

    def name(self, kind, text):
        number, _, name = text.partition(" ")
        if name:
            self.names[kind][number] = name
        return self.names[kind][number]

    def read(self, lines):
        now, called = {}, None
        for line in lines:
            key, is_name, text = line.rstrip("\n").partition("=")
            if is_name and key in KINDS:
                now[key] = self.name(KINDS[key], text)
                if key in ("fl", "fi", "fe"):
                    now["at"] = now[key]
                elif key == "fn":
                    function, now["at"] = (now["ob"], now["fn"]), now["fl"]
                    self.files[function] = now["fl"]
            elif key == "calls":
                called = (now.pop("cob", now["ob"]), now["cfn"])
            elif re.match(r"[0-9+*-]\S* [0-9]+$", line):
                cost = int(line.split()[1])
                if called:
                    self.calls[called][function, now["at"]] += cost
                else:
                    self.spent[function, now["at"]] += cost
                called = None

    def by_place(self):
        """A Counter by "file function"; of what nobody of ours has called, by "object function"."""
        to = collections.Counter()
        for (function, at), cost in self.spent.items():
            for place, share in self.places(function, at).items():
                to[place] += cost * share
        return to

    def places(self, function, at):
        file = own_file(at) or own_file(self.files[function])
        if file:
            return {f"{file} {short(function[1])}": 1.0}
        if "libleveldb" in function[0]:
            return {f"libleveldb {function[1]}": 1.0}
        return self.callers(function)

    def callers(self, function):
        if function not in self.shares:
            self.shares[function] = {}  # a recursive call adds nothing
            found, calls = collections.Counter(), self.calls[function]
            for (caller, at), cost in calls.items():
                for place, share in self.places(caller, at).items():
                    found[place] += cost * share
            if HASH.search(function[1]):
                found = {place.removesuffix(" #") + " #": cost for place, cost in found.items()}
            whole = sum(found.values())
            self.shares[function] = ({place: cost / whole for place, cost in found.items()} if whole
                                     else {f"{function[0].split('/')[-1]} {function[1]}": 1.0})
        return self.shares[function]
