// Compares what the runtime declares of a library with that library's own header.
#ifndef LUMEN_TEST_UNIT_RUNTIME_FOREIGNHEADER_H
#define LUMEN_TEST_UNIT_RUNTIME_FOREIGNHEADER_H

#include <string>
#include <type_traits>

namespace lumen::test {

/// What a caller must know of a function: kind and size of its result and arguments.
template <typename T> std::string passed() {
  if constexpr (std::is_void_v<T>)
    return "void";
  else
    return (std::is_pointer_v<T> ? "pointer" : "number") + std::to_string(sizeof(T));
}
template <typename Result, typename... Arguments> std::string signature(Result (*)(Arguments...)) {
  std::string text = passed<Result>();
  ((text += ' ' + passed<Arguments>()), ...);
  return text;
}

} // namespace lumen::test

#endif
