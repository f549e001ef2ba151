//===- Lexer.h - the words of PTX --------------------------------*- C++ -*-===//
#ifndef LUMEN_TEST_PTX_LEXER_H
#define LUMEN_TEST_PTX_LEXER_H

#include <cstdint>
#include <string_view>

namespace lumen::ptx {

/// Words are names of registers, directives and instructions with all of their dots and
/// numbers; everything else is one character. Comments and space are left out.
class Lexer {
public:
  explicit Lexer(std::string_view text) : rest(text) { advance(); }

  /// Empty at the end.
  std::string_view peek() const { return token; }
  /// The one after, which follows at once.
  std::string_view peekSecond() const;
  std::string_view next();
  bool take(std::string_view expected);
  /// Drops what is left of the line of the last token that was taken.
  void skipLine();
  /// Of the next token, from 1.
  uint32_t line() const { return tokenLine; }

private:
  void advance();
  void skipSpace();

  std::string_view rest, token;
  uint32_t number = 1, tokenLine = 1, lastLine = 1;
};

/// An integer or the bits of a floating-point number, "0f3F800000"; `floatSize` gets its
/// bytes.
bool parseInteger(std::string_view word, uint64_t &number, uint8_t *floatSize = nullptr);

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_LEXER_H
