"""The stubs say what the module has: names, argument names, kinds and defaults."""

import ast
import inspect
import pathlib

import pytest
import rapt

STUB = ast.parse((pathlib.Path(rapt.__file__).parent / "__init__.pyi").read_text())
PUBLIC = {node.name: node for node in STUB.body
          if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")}
ATTRIBUTES = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}


def stub_parameters(function):
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    missing = [None] * (len(positional) - len(arguments.defaults))
    every = list(zip(positional, missing + arguments.defaults, ["positional"] * len(positional)))
    every += list(zip(arguments.kwonlyargs, arguments.kw_defaults, ["keyword"] * len(arguments.kwonlyargs)))
    return [(name.arg, kind, inspect.Parameter.empty if default is None else ast.literal_eval(default))
            for name, default, kind in every]


def real_parameters(function):
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional", inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return [(p.name, kinds[p.kind], p.default) for p in inspect.signature(function).parameters.values()]


def test_names_are_the_same():
    assert set(PUBLIC) | ATTRIBUTES == set(rapt.__all__)
    assert isinstance(rapt.__version__, str) and isinstance(rapt.contract_version, int)


@pytest.mark.parametrize("name", sorted(name for name, node in PUBLIC.items() if isinstance(node, ast.FunctionDef)))
def test_signatures_are_the_same(name):
    function = getattr(rapt, name)
    assert stub_parameters(PUBLIC[name]) == real_parameters(function)
    assert len(inspect.getdoc(function)) > 60


@pytest.mark.parametrize("name", sorted(name for name, node in PUBLIC.items() if isinstance(node, ast.ClassDef)))
def test_classes_have_the_same_members(name):
    real = getattr(rapt, name)
    members = {node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in PUBLIC[name].body}
    public = {member for member in vars(real) if not member.startswith("_")}
    assert {member for member in members if not member.startswith("_")} == public
    assert inspect.getdoc(real)
    for member in public:
        assert inspect.getdoc(getattr(real, member)), member


METHODS = [(name, node.name, node) for name, definition in PUBLIC.items() if isinstance(definition, ast.ClassDef)
           for node in definition.body if isinstance(node, ast.FunctionDef) and not node.decorator_list
           and node.name not in ("__enter__", "__exit__")]


@pytest.mark.parametrize("owner, name, node", METHODS, ids=lambda value: value if isinstance(value, str) else "")
def test_methods_have_the_same_signatures(owner, name, node):
    method = getattr(getattr(rapt, owner), name)
    assert stub_parameters(node) == real_parameters(method)
    assert inspect.getdoc(method)
