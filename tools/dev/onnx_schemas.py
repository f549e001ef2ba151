"""The table of ONNX's operators in passes/onnx-to-lumen/Schemas.inc.

gen_docs.py writes it, from the pinned onnx package. One row for each version of an
operator from operator set 7 on: what Schema.cpp checks of a node.
"""

from onnx import TensorProto, defs

HEADER = """\
// What the standard says of each operator and version. Generated from the pinned onnx
// package by tools/dev/gen_docs.py; Schema.cpp tells how a row is read.
"""

DOMAINS = ("", "ai.onnx.ml")
# Attributes that are 0 or 1, which a schema only says in words.
FLAGS = set("""
align_corners allowzero antialias ceil_mode center_point_box count_include_pad detect_negative
detect_positive exclude_outside exclusive fmod input_forget interleaved inverse
is_case_sensitive is_causal keepdims largest layout linear_before_reset new_axis
noop_with_empty_axes one_class onesided periodic reverse saturate select_last_index sorted
storage_order training_mode transA transB upper zeros
""".split())
ELEMENTS = {"float": "FLOAT", "double": "DOUBLE"}
LEAST = 7


def type_code(text):
    """The element type of `tensor(float)` as in TensorProto; 0 for what is no tensor."""
    if not text.startswith("tensor("):
        return 0
    name = text[len("tensor("):-1]
    return TensorProto.DataType.Value(ELEMENTS.get(name, name.upper()))


def types_of(names):
    return sum({1 << type_code(name) for name in names})


def operand(value):
    """The type variable, with ? where it may be absent and * where it is repeated."""
    option = value.option.name
    # Repeated operands of different types have no common variable.
    repeated = "*" if value.is_homogeneous else "+"
    return value.type_str + {"Optional": "?", "Variadic": repeated}.get(option, "")


def kind_of(attribute):
    """A letter for its type, a capital one for a list; x for what has no letter."""
    if attribute.name in FLAGS:
        return "?"
    return {"INT": "i", "INTS": "I", "FLOAT": "f", "FLOATS": "F", "STRING": "s",
            "STRINGS": "S"}.get(attribute.type.name, "x")


def row(schema):
    constraints = {c.type_param_str: types_of(c.allowed_type_strs)
                   for c in schema.type_constraints}
    for value in (*schema.inputs, *schema.outputs):
        constraints.setdefault(value.type_str, types_of([value.type_str]))
    used = {value.type_str for value in schema.inputs}
    types = " ".join(f"{name}={constraints[name]:x}" for name in sorted(used))
    attributes = " ".join(f"{name}:{kind_of(attribute)}{'!' * attribute.required}"
                          for name, attribute in sorted(schema.attributes.items()))
    most = min(schema.max_input, 2**31 - 1)
    operands = " ".join(operand(value) for value in schema.inputs)
    return (f'{{"{schema.domain}", "{schema.name}", {schema.since_version}, {schema.min_input},'
            f' {most}, "{operands}", "{types}", "{attributes}"}},\n')


def table():
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            versions.setdefault((schema.domain, schema.name), []).append(schema)
    rows = []
    for (domain, _), schemas in sorted(versions.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        following = [schema.since_version for schema in schemas[1:]] + [None]
        for schema, until in zip(schemas, following):
            is_old = domain == "" and until is not None and until <= LEAST
            if not is_old and not schema.deprecated:
                rows.append(row(schema))
    return HEADER + "".join(rows)
