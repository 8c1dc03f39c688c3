# SPDX-License-Identifier: Apache-2.0
"""State that one interpreter saves is the same in the next one: functions, classes, the objects they share. None of
the user's code is run for it."""

import unittest

from harness import Runner

ROOM = 64 << 20


def saved(outcome):
    (event,) = outcome.of("saved_state")
    return event["saved_state"]


class States(unittest.TestCase):
    def save(self, *cells):
        """The saved state of a session in which these cells ran."""
        with Runner() as runner:
            for cell in cells[:-1]:
                self.assertIn(runner.run(cell).done["kind"], ("ok", "exception"), cell)
            outcome = runner.run(cells[-1], save_state=ROOM)
            self.assertEqual(outcome.done["kind"], "ok", outcome.error)
            return saved(outcome)

    def read(self, state, question):
        with Runner() as runner:
            outcome = runner.run(question, pieces={"saved_state": state["base64"]})
            self.assertEqual(outcome.done["kind"], "ok", outcome.error)
            self.assertEqual(saved(outcome)["lost"], [])
            return outcome.result["application/json"]

    def moved(self, cells, question, lost=()):
        state = self.save(*cells)
        self.assertEqual({fact["name"] for fact in state["lost"]}, set(lost), state["lost"])
        return self.read(state, question)


class SameTest(States):
    """A class or a function is what it was, whatever its source says by now."""

    def test_defaults_and_class_attributes_are_those_of_then(self):
        cells = ("LR = 0.1\nfrom dataclasses import dataclass, field\n@dataclass\nclass Cfg:\n    lr: float = LR\n"
                 "    tags: list = field(default_factory=list)\n"
                 "class Net:\n    def fit(self, lr=LR): return lr\n"
                 "seen = []\ndef register(f): seen.append(f.__name__); return f\n@register\ndef step(): pass",
                 "LR = 0.5\nconfig = Cfg(tags=[1])")
        self.assertEqual(self.moved(cells, "[Cfg().lr, Net().fit(), seen, repr(config), config == Cfg(tags=[1]), Cfg().tags]"),
                         [0.1, 0.1, ["step"], "Cfg(lr=0.1, tags=[1])", True, []])

    def test_the_class_that_is_there_comes_and_not_another_one_of_its_name(self):
        cells = ("class A:\n    def f(self): return 'old'\nclass A:\n    def f(self): return 'new'\na = A()",
                 "class B:\n    def f(self): return 'plain'\nB.f = lambda self: 'patched'\n"
                 "B.g = property(lambda self: 'property')\nB.h = staticmethod(lambda: 'static')\nb = B()",
                 "FAST = False\nif FAST:\n    class C: v = 'fast'\nelse:\n    class C: v = 'slow'\nFAST = True",
                 "raise ValueError\nclass A:\n    def f(self): return 'never'",
                 "def f():\n    '''One.'''\nf.__doc__ = 'Two.'")
        self.assertEqual(self.moved(cells, "[a.f(), type(a) is A, b.f(), b.g, B.h(), C.v, f.__doc__]"),
                         ["new", True, "patched", "property", "static", "slow", "Two."])

    def test_nothing_of_the_users_runs_again(self):
        cells = ("log = []\nclass Base:\n    def __init_subclass__(cls, **k): log.append(cls.__name__)\n"
                 "class Meta(type):\n    made = {}\n    def __new__(m, n, b, d):\n        c = super().__new__(m, n, b, d)\n"
                 "        m.made[n] = c\n        log.append('meta')\n        return c\n"
                 "class Named:\n    def __set_name__(self, owner, name): log.append(name)\n"
                 "class One(Base): log.append('body')\nclass Two(metaclass=Meta):\n    n = Named()\n"
                 "def default(): log.append('default')\ndef f(x=default()): pass\nt = Two()",)
        self.assertEqual(self.moved(cells, "class Three(Base): pass\n[log, Meta.made['Two'] is Two, type(Two) is Meta]"),
                         [["body", "One", "n", "meta", "default", "Three"], True, True])

    def test_kinds_of_classes(self):
        cells = ("import abc, enum, collections, typing, functools\nfrom typing import Generic, TypeVar, NewType, NamedTuple\n"
                 "T = TypeVar('T', bound=int)\nclass Stack(Generic[T]):\n    def __init__(self): self.i = []\ns = Stack[int]()\n"
                 "UserId = NewType('UserId', int)\n"
                 "class Color(enum.Enum):\n    RED = 1\n    BLUE = 'b'\n    def low(self): return self.name.lower()\n"
                 "class Planet(enum.Enum):\n    EARTH = (1, 2)\n    def __init__(self, m, r): self.mass = m\n"
                 "class Level(enum.IntEnum):\n    LOW = 1\nclass Perm(enum.Flag):\n    R = enum.auto()\n    W = enum.auto()\n"
                 "class Text(str, enum.Enum):\n    A = 'a'\n"
                 "red = Color.RED; both = Perm.R | Perm.W\n"
                 "class Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\nclass Square(Shape):\n    def area(self): return 4\n"
                 "class Other: pass\nShape.register(Other)\n"
                 "class Slots:\n    __slots__ = ('x', '__y')\n    def __init__(self): self.x = 1; self.__y = 2\n    def y(self): return self.__y\n"
                 "slots = Slots()\nclass Row(NamedTuple):\n    a: int\n    b: int = 2\n    def both(self): return self.a + self.b\nrow = Row(1)\n"
                 "class Lazy:\n    @functools.cached_property\n    def v(self): return [1]\n    @classmethod\n    def name(cls): return cls.__name__\nlazy = Lazy()",
                 "class Err(ValueError):\n    pass\nclass D(dict):\n    def __missing__(self, k): return k\nd = D(a=1)\n"
                 "class Node:\n    nodes = []\n    def __init__(self): self.nodes.append(self)\n    def __setstate__(self, d): self.__dict__.update(d, back=True)\n"
                 "node = Node(); node.me = node\nclass Sub(Lazy):\n    def v2(self): return super().v",)
        question = ("try: Shape(); made = True\nexcept TypeError: made = False\n"
                    "[str(s), s.__class__ is Stack, Stack.__parameters__[0] is T, T.__bound__ is int, UserId(3), red is Color.RED, Color('b').low(), "
                    "Planet.EARTH.mass, Planet((1, 2)) is Planet.EARTH, Level.LOW + 1, both == Perm.R | Perm.W, (both & Perm.R) is Perm.R, "
                    "Text.A == 'a', [c.name for c in Color], made, Square().area(), issubclass(Other, Shape), slots.x, slots.y(), "
                    "hasattr(slots, '__dict__'), row.both(), row == (1, 2), lazy.v is lazy.v, Lazy.name(), issubclass(Err, ValueError), d['z'], "
                    "Node.nodes[0] is node, node.me is node, node.back, Sub().v2(), isinstance(Sub(), Lazy)][1:]")
        self.assertEqual(self.moved(cells, question),
                         [True, True, True, 3, True, "blue", 1, True, 2, True, True, True, ["RED", "BLUE"], False, 4, True, 1, 2,
                          False, 3, True, True, "Lazy", True, "z", True, True, True, [1], True])

    def test_decorators_of_libraries(self):
        cells = ("import contextlib, functools, sys, threading\ncalls = []\n"
                 "@contextlib.contextmanager\ndef told(x):\n    calls.append(x)\n    yield x + 1\n"
                 "@functools.lru_cache(maxsize=7)\ndef slow(x): return x * 2\nslow(1)\n"
                 "@functools.singledispatch\ndef show(x): return 'any'\n@show.register(int)\ndef _(x): return 'int'\n"
                 "def retry(n):\n    def outer(f):\n        @functools.wraps(f)\n        def inner(*a): return [f(*a) for _ in range(n)]\n"
                 "        return inner\n    return outer\n@retry(2)\ndef twice(x): return x\n"
                 "def say(text, out=sys.stdout): print(text, file=out)\n"
                 "def make():\n    import math\n    return lambda x: math.floor(x)\nfloor = make()\npart = functools.partial(twice, 5)",)
        self.assertEqual(self.moved(cells, "say('hello')\nwith told(1) as y: pass\n"
                                           "[y, calls, slow(3), slow.cache_info().maxsize, show(1), show(''), twice(4), twice.__name__, floor(1.5), part()]"),
                         [2, [1], 6, 7, "int", "any", [4, 4], "twice", 1, [5, 5]])

    def test_annotations_of_the_future_and_a_default_whose_name_is_gone(self):
        cells = ("from __future__ import annotations\nclass Node:\n    next: Node = None\n    def add(self, other: Node) -> Node: return self",
                 "tmp = 7\ndef f(k=tmp): return k\ndel tmp\nnode = Node()")
        self.assertEqual(self.moved(cells, "[Node.__annotations__['next'], node.add(1) is node, f()]"), ["Node", True, 7])

    def test_a_traceback_shows_the_lines_also_after_the_second_time(self):
        first = self.save("x = 1\ndef f():\n    return 1/0  # of the first")
        with Runner() as runner:
            outcome = runner.run("def g():\n    return f()  # of the second", pieces={"saved_state": first["base64"]}, save_state=ROOM)
            second = saved(outcome)
        with Runner() as runner:
            outcome = runner.run("g()", pieces={"saved_state": second["base64"]})
        for line in ("return 1/0  # of the first", "return f()  # of the second", 'File "<cell 1>", line 1'):
            self.assertIn(line, outcome.error["traceback"])


class SharedTest(States):
    def test_variables_that_share_an_object_share_it_again(self):
        cells = ("import functools, decimal, fractions\ncfg = {'k': 1}\nclass Report:\n    table = cfg\n    def __init__(s): s.cfg = cfg\n"
                 "r = Report()\ndef f(c=cfg): return c\ndef outer():\n    inside = cfg\n    return lambda: inside\n"
                 "g = outer()\npart = functools.partial(f, cfg)\npair = (cfg, decimal.Decimal(1))\nlast = [pair, fractions.Fraction(1)]",)
        self.assertEqual(self.moved(cells, "[one is cfg for one in (r.cfg, Report.table, f(), g(), part(), pair[0], last[0][0])]"), [True] * 7)

    def test_what_needs_another_variable_waits_for_it(self):
        cells = ("class A:\n    def __setstate__(self, d): self.made = helper(d['n'])\na = A(); a.n = 3\ndef helper(n): return n + extra\nextra = 1",)
        self.assertEqual(self.moved(cells, "a.made"), 4)


class LostTest(States):
    """Only the culprit is lost, and what shares something with it."""

    def test_an_exception_comes_whatever_its_init_takes(self):
        cells = ("class ApiError(Exception):\n    def __init__(self, code, text):\n        super().__init__(f'{code}: {text}')\n        self.code = code\n"
                 "class Model:\n    def __init__(self): self.w = [1, 2, 3]\nmodel = Model(); best = {'m': Model()}; inc = lambda x: x + 1\n"
                 "try: raise ApiError(404, 'gone')\nexcept ApiError as e: last = e\nshared = [model]",)
        self.assertEqual(self.moved(cells, "[model.w, best['m'].w, inc(1), shared[0] is model, ApiError(1, 'x').args[0], str(last), last.code, type(last) is ApiError]"),
                         [[1, 2, 3], [1, 2, 3], 2, True, "1: x", "404: gone", 404, True])

    def test_what_pickles_and_does_not_unpickle_is_named_by_who_reads_it(self):
        state = self.save("class Bad:\n    def __setstate__(self, d): raise KeyError('mine')\n"
                          "class Model: w = [1]\nbad = Bad(); bad.x = 1\nboth = [bad]\nx = [1]; model = Model()")
        self.assertEqual(state["lost"], [])
        with Runner() as runner:
            outcome = runner.run("[x, model.w, [name for name in ('bad', 'both') if name in globals()]]", pieces={"saved_state": state["base64"]})
            self.assertEqual(outcome.result["application/json"], [[1], [1], []])
            self.assertEqual({fact["name"]: fact["why"] for fact in saved(outcome)["lost"]},
                             {name: "KeyError: 'mine'" for name in ("Bad", "bad", "both")})

    def test_a_member_that_cannot_go_is_named_and_its_class_goes(self):
        cells = ("import threading\nclass Safe:\n    lock = threading.Lock()\n    n = 1\n    def get(self): return self.n\n"
                 "safe = Safe()\ndef held(): return 2\nheld.lock = threading.Lock()",)
        self.assertEqual(self.moved(cells, "[safe.get(), held(), hasattr(Safe, 'lock')]", lost=("Safe.lock", "held.lock")), [1, 2, False])

    def test_a_module_that_nobody_can_import_is_named(self):
        cells = ("import types\nmine = types.ModuleType('mine')\nx = 1",)
        self.assertEqual(self.moved(cells, "x", lost=("mine",)), 1)


if __name__ == "__main__":
    unittest.main()
