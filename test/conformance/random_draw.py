"""What the random operator cases are drawn with: element types, shapes and values.

A `Draw` is one node in the making. It knows the operator's schema, from which come
the element types that each operand may have, and whether a parameter is an attribute
or an operand in this version.
"""

import zlib

import ml_dtypes
import numpy as np
from onnx import defs, helper

import contrib_schemas

DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
          "tensor(bfloat16)": ml_dtypes.bfloat16, "tensor(int8)": np.int8,
          "tensor(int16)": np.int16, "tensor(int32)": np.int32, "tensor(int64)": np.int64,
          "tensor(uint8)": np.uint8, "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32,
          "tensor(uint64)": np.uint64, "tensor(bool)": np.bool_}
NARROW = (np.float16, ml_dtypes.bfloat16)

SIZES = [1, 1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33]
MAX_ELEMENTS = 3000


def is_float(dtype):
    return np.dtype(dtype).kind == "f" or dtype == ml_dtypes.bfloat16


def name_of(schema):
    """As `lumenc --operators` has it."""
    return f"{schema.domain}::{schema.name}" if schema.domain else schema.name


class Unsuitable(Exception):
    """The recipe has no case for what was drawn."""


class Draw:
    """One node: operands, attributes and the number of outputs.

    An operand is a pair of a value and whether it is a constant, or None where it is
    left out.
    """

    def __init__(self, schema, opset, seed, number):
        self.schema, self.opset = schema, opset
        key = f"{schema.domain}:{schema.name}-{schema.since_version}".encode()
        self.rng = np.random.default_rng([seed, zlib.crc32(key), number])
        self.operands, self.attributes, self.outputs = [], {}, 1
        self.within = 0  # by how much integers may differ
        self.extra = []  # attributes that the schema does not have so
        self.types = {}
        self.has_specials = False
        self.may_be_empty = self.maybe(0.08)
        # Most often sizes are known; a case may also leave some or all open.
        self.open_share = self.pick([0, 0, 0, 0.5, 1])
        self.fixed = set()

    # ---- Choices

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def maybe(self, probability):
        return bool(self.rng.random() < probability)

    def integer(self, low, high):
        """Both ends are included."""
        return int(self.rng.integers(low, high + 1))

    def size(self):
        return 0 if self.may_be_empty and self.maybe(0.3) else self.pick(SIZES)

    def shape(self, low=0, high=5, most=MAX_ELEMENTS):
        """A shape of `low` to `high` dimensions."""
        rank = self.integer(low, high)
        dims = [self.size() for _ in range(rank)]
        while np.prod(dims, dtype=int) > most:
            at = int(np.argmax(dims))
            dims[at] = max(1, dims[at] // 2)
        return dims

    def axis(self, rank):
        """Counted from either end, as far as the version allows."""
        if rank < 1:
            raise Unsuitable
        low = -rank if self.schema.since_version >= 11 else 0
        return self.integer(low, rank - 1)

    def axes(self, rank, low=0):
        """Some axes, each once, in any order."""
        chosen = [int(a) for a in self.rng.permutation(rank)[:self.integer(min(low, rank), rank)]]
        if self.schema.since_version >= 11:
            chosen = [a - rank if self.maybe(0.3) else a for a in chosen]
        return chosen

    # ---- Types

    def dtype(self, index):
        """The element type of an operand, one for all that share a type variable."""
        inputs = self.schema.inputs
        variable = inputs[min(index, len(inputs) - 1)].type_str
        if variable not in self.types:
            allowed = [variable]
            for constraint in self.schema.type_constraints:
                if constraint.type_param_str == variable:
                    allowed = constraint.allowed_type_strs
            known = [DTYPES[name] for name in sorted(allowed) if name in DTYPES]
            if not known:
                raise Unsuitable
            # The type that most models have is a third of all cases.
            common = np.float32 in known and self.maybe(0.33)
            self.types[variable] = np.float32 if common else self.pick(known)
        return self.types[variable]

    def values(self, shape, dtype, low=None, high=None):
        """Random values: floats from -4 to 4, integers from -9 to 9, unless bounds are given."""
        if dtype == np.bool_:
            return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        if is_float(dtype):
            array = np.asarray(self.rng.uniform(-4 if low is None else low,
                                                4 if high is None else high, shape))
            if self.has_specials and low is None:
                special = self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
                array = np.where(self.rng.random(shape) < 0.15, special, array)
            return array.astype(dtype)
        bounds = np.iinfo(dtype)
        if low is None and high is None and self.has_specials:
            return np.asarray(self.rng.integers(bounds.min, bounds.max, shape, dtype,
                                                endpoint=True))
        low = max(-9 if low is None else int(np.ceil(low)), bounds.min)
        high = min(9 if high is None else int(high), bounds.max)
        return np.asarray(self.rng.integers(low, max(high, low) + 1, shape)).astype(dtype)

    # ---- Operands and attributes

    def operand(self, shape, low=None, high=None, constant=0.15):
        """Appends a random tensor, and returns its value."""
        return self.give(self.values(shape, self.dtype(len(self.operands)), low, high), constant)

    def give(self, array, constant=0.15):
        array = np.asarray(array)
        self.operands.append((array, self.maybe(constant)))
        return array

    def absent(self):
        self.operands.append(None)

    def fix(self):
        """The shape of the last operand decides the structure: it is never left open."""
        self.fixed.add(len(self.operands) - 1)

    def fix_all(self):
        self.open_share = 0

    def position(self, name):
        names = [operand.name.lower() for operand in self.schema.inputs]
        return names.index(name.lower()) if name.lower() in names else None

    def has(self, name):
        return name in self.schema.attributes or self.position(name) is not None

    def attribute(self, name, values, required=False):
        """Sets an attribute that this version has to one of some values, or leaves it out."""
        if name in self.schema.attributes and (required or self.maybe(0.7)):
            self.attributes[name] = self.pick(values)
        return self.attributes.get(name)

    def parameter(self, name, value, constant=0.7):
        """Gives what is an attribute in some versions and an operand in others."""
        if name in self.schema.attributes:
            array = np.asarray(value)
            self.attributes[name] = array.tolist()
            return
        position = self.position(name)
        if position is None:
            raise Unsuitable
        while len(self.operands) < position:
            self.absent()
        dtype = self.dtype(position)
        self.give(np.asarray(value, dtype), constant)
        self.fix()

    def open_dimensions(self):
        """For each operand, which of its dimensions the model leaves open."""
        return [set() if operand is None or index in self.fixed else
                {axis for axis in range(operand[0].ndim) if self.maybe(self.open_share)}
                for index, operand in enumerate(self.operands)]

    def node(self, prefix):
        """The node, its operands' names beginning with `prefix`."""
        names = [f"{prefix}_in{i}" if operand else ""
                 for i, operand in enumerate(self.operands)]
        outputs = [f"{prefix}_out{i}" for i in range(self.outputs)]
        node = helper.make_node(self.schema.name, names, outputs, name=prefix,
                                domain=self.schema.domain)
        for name, value in self.attributes.items():
            kind = self.schema.attributes[name].type.value
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        node.attribute.extend(self.extra)
        return node


def schemas():
    """Every version of every operator, with the operator sets where it is the newest."""
    versions = {}
    for schema in [*defs.get_all_schemas_with_history(), *contrib_schemas.SCHEMAS]:
        versions.setdefault((schema.domain, schema.name), []).append(schema)
    newest = {domain: defs.onnx_opset_version() if domain == "" else
              max(s.since_version for key, all_of in versions.items() if key[0] == domain
                  for s in all_of)
              for domain, _ in versions}
    result = []
    for (domain, _), all_of in sorted(versions.items()):
        all_of.sort(key=lambda schema: schema.since_version)
        for schema, following in zip(all_of, [*all_of[1:], None]):
            first = max(schema.since_version, 7 if domain == "" else 1)
            last = following.since_version - 1 if following else newest[domain]
            if first <= last and not schema.deprecated:
                result.append((schema, first, last))
    return result
