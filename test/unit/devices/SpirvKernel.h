// The SPIR-V of a small kernel, as lumenc would emit it.
#ifndef LUMEN_TEST_SPIRVKERNEL_H
#define LUMEN_TEST_SPIRVKERNEL_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace lumen::test {

// See DeviceKind::makeSum.
class SpirvKernel {
public:
  static constexpr uint32_t block = 64;

  SpirvKernel(const std::string &name, uint32_t numInputs, bool hasFaults);

  std::vector<uint32_t> words;

private:
  enum : uint32_t {
    storageBuffer = 12,
    // Of types and values that every kernel has; the first free one in the end.
    main = 1,
    globalId,
    voidType,
    functionType,
    uintType,
    floatType,
    boolType,
    uint3Type,
    inputPointer,
    floatArray,
    uintArray,
    floatBlock,
    uintBlock,
    floatBlockPointer,
    uintBlockPointer,
    floatPointer,
    uintPointer,
    firstFree
  };

  void op(uint32_t code, std::initializer_list<uint32_t> operands,
          const std::string *text = nullptr, std::initializer_list<uint32_t> more = {});
  // One with a result, whose id it gives.
  uint32_t value(uint32_t code, uint32_t type, std::initializer_list<uint32_t> operands);
  uint32_t number(uint32_t of);
  uint32_t at(uint32_t pointer, uint32_t variable, uint32_t index);
  uint32_t load(uint32_t type, uint32_t pointer, uint32_t variable, uint32_t index);

  uint32_t next = firstFree;
  std::vector<uint32_t> numbers; // ids of constants
};

inline void SpirvKernel::op(uint32_t code, std::initializer_list<uint32_t> operands,
                            const std::string *text, std::initializer_list<uint32_t> more) {
  size_t begin = words.size();
  words.push_back(0);
  words.insert(words.end(), operands);
  if (text)
    for (size_t i = 0; i <= text->size(); ++i) {
      if (i % 4 == 0)
        words.push_back(0);
      words.back() |= uint32_t(uint8_t(text->c_str()[i])) << i % 4 * 8;
    }
  words.insert(words.end(), more);
  words[begin] = uint32_t(words.size() - begin) << 16 | code;
}

inline uint32_t SpirvKernel::value(uint32_t code, uint32_t type,
                                   std::initializer_list<uint32_t> operands) {
  size_t begin = words.size();
  op(code, operands);
  words.insert(words.begin() + begin + 1, {type, next});
  words[begin] += 2u << 16;
  return next++;
}

inline uint32_t SpirvKernel::number(uint32_t of) { return numbers[of]; }

inline uint32_t SpirvKernel::at(uint32_t pointer, uint32_t variable, uint32_t index) {
  return value(/*OpAccessChain*/ 65, pointer, {variable, number(0), index});
}

inline uint32_t SpirvKernel::load(uint32_t type, uint32_t pointer, uint32_t variable,
                                  uint32_t index) {
  return value(/*OpLoad*/ 61, type, {at(pointer, variable, index)});
}

inline SpirvKernel::SpirvKernel(const std::string &name, uint32_t numInputs, bool hasFaults) {
  uint32_t numArgs = numInputs + 1, numBindings = numArgs + 1 + hasFaults;
  words = {0x07230203, 0x00010300, 0, 0, 0}; // the bound follows
  uint32_t variables = next;
  next += numBindings;
  op(/*OpCapability*/ 17, {/*Shader*/ 1});
  op(/*OpMemoryModel*/ 14, {/*Logical*/ 0, /*GLSL450*/ 1});
  op(/*OpEntryPoint*/ 15, {/*GLCompute*/ 5, main}, &name, {globalId});
  op(/*OpExecutionMode*/ 16, {main, /*LocalSize*/ 17, block, 1, 1});
  constexpr uint32_t decorate = 71;
  op(decorate, {globalId, /*BuiltIn*/ 11, /*GlobalInvocationId*/ 28});
  for (uint32_t array : {floatArray, uintArray})
    op(decorate, {array, /*ArrayStride*/ 6, 4});
  for (uint32_t type : {floatBlock, uintBlock}) {
    op(decorate, {type, /*Block*/ 2});
    op(/*OpMemberDecorate*/ 72, {type, 0, /*Offset*/ 35, 0});
  }
  for (uint32_t i = 0; i < numBindings; ++i) {
    op(decorate, {variables + i, /*DescriptorSet*/ 34, 0});
    op(decorate, {variables + i, /*Binding*/ 33, i});
    if (i < numArgs)
      op(decorate, {variables + i, /*Aliased*/ 20});
  }
  op(/*OpTypeVoid*/ 19, {voidType});
  op(/*OpTypeFunction*/ 33, {functionType, voidType});
  op(/*OpTypeInt*/ 21, {uintType, 32, 0});
  op(/*OpTypeFloat*/ 22, {floatType, 32});
  op(/*OpTypeBool*/ 20, {boolType});
  op(/*OpTypeVector*/ 23, {uint3Type, uintType, 3});
  constexpr uint32_t runtimeArray = 29, structType = 30, pointerType = 32;
  op(pointerType, {inputPointer, /*Input*/ 1, uint3Type});
  op(runtimeArray, {floatArray, floatType});
  op(runtimeArray, {uintArray, uintType});
  op(structType, {floatBlock, floatArray});
  op(structType, {uintBlock, uintArray});
  op(pointerType, {floatBlockPointer, storageBuffer, floatBlock});
  op(pointerType, {uintBlockPointer, storageBuffer, uintBlock});
  op(pointerType, {floatPointer, storageBuffer, floatType});
  op(pointerType, {uintPointer, storageBuffer, uintType});
  constexpr uint32_t constant = 43;
  for (uint32_t i = 0; i < numArgs + 2 || i <= block; ++i)
    numbers.push_back(value(constant, uintType, {i}));
  uint32_t one = value(constant, floatType, {0x3f800000});
  uint32_t zero = value(constant, floatType, {0});
  op(/*OpVariable*/ 59, {inputPointer, globalId, /*Input*/ 1});
  for (uint32_t i = 0; i < numBindings; ++i)
    op(59, {i < numArgs ? floatBlockPointer : uintBlockPointer, variables + i, storageBuffer});
  uint32_t params = variables + numArgs, faults = params + 1;

  op(/*OpFunction*/ 54, {voidType, main, 0, functionType});
  constexpr uint32_t label = 248, branch = 249, branchIf = 250, add = 128, store = 62;
  uint32_t entry = next++, header = next++, test = next++, body = next++, carry = next++,
           merge = next++;
  op(label, {entry});
  uint32_t id = value(61, uint3Type, {globalId});
  uint32_t first = value(/*OpCompositeExtract*/ 81, uintType, {id, 0});
  uint32_t units = load(uintType, uintPointer, params, number(0));
  uint32_t workgroups = load(uintType, uintPointer, params, number(1));
  uint32_t step = value(/*OpIMul*/ 132, uintType, {workgroups, number(block)});
  std::vector<uint32_t> offsets;
  for (uint32_t i = 0; i < numArgs; ++i)
    offsets.push_back(value(/*OpShiftRightLogical*/ 194, uintType,
                            {load(uintType, uintPointer, params, number(2 + i)), number(2)}));
  op(branch, {header});
  op(label, {header});
  uint32_t unit = next, following = next + 1;
  next += 2;
  op(/*OpPhi*/ 245, {uintType, unit, first, entry, following, carry});
  op(/*OpLoopMerge*/ 246, {merge, carry, 0});
  op(branch, {test});
  op(label, {test});
  op(branchIf, {value(/*OpULessThan*/ 176, boolType, {unit, units}), body, merge});
  op(label, {body});
  uint32_t sum = one, x = 0;
  for (uint32_t i = numInputs; i-- > 0;) {
    uint32_t index = value(add, uintType, {unit, offsets[i]});
    x = load(floatType, floatPointer, variables + i, index);
    sum = value(/*OpFAdd*/ 129, floatType, {sum, x});
  }
  uint32_t to = value(add, uintType, {unit, offsets[numInputs]});
  op(store, {at(floatPointer, variables + numInputs, to), sum});
  if (hasFaults) {
    uint32_t tell = next++, after = next++;
    uint32_t isBad = value(/*OpFOrdLessThan*/ 184, boolType, {x, zero});
    op(/*OpSelectionMerge*/ 247, {after, 0});
    op(branchIf, {isBad, tell, after});
    op(label, {tell});
    op(store, {at(uintPointer, faults, number(2)), unit});
    op(store, {at(uintPointer, faults, number(4)), units});
    op(store, {at(uintPointer, faults, number(0)), number(1)});
    op(branch, {after});
    op(label, {after});
  }
  op(branch, {carry});
  op(label, {carry});
  op(add, {uintType, following, unit, step});
  op(branch, {header});
  op(label, {merge});
  op(/*OpReturn*/ 253, {});
  op(/*OpFunctionEnd*/ 56, {});
  words[3] = next;
}

} // namespace lumen::test

#endif
