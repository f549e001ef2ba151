//===- Lexer.cpp - the words of PTX ---------------------------------------===//

#include "Lexer.h"

#include <algorithm>
#include <charconv>

using namespace lumen::ptx;

static bool isWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

void Lexer::skipSpace() {
  for (;;) {
    if (rest.empty())
      return;
    if (rest.substr(0, 2) == "//") {
      rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    } else if (rest.substr(0, 2) == "/*") {
      size_t end = std::min(rest.find("*/"), rest.size() - 2) + 2;
      number += static_cast<uint32_t>(std::count(rest.begin(), rest.begin() + end, '\n'));
      rest.remove_prefix(end);
    } else if (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\n' ||
               rest.front() == '\r' || rest.front() == '\0') {
      number += rest.front() == '\n';
      rest.remove_prefix(1);
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skipSpace();
  tokenLine = number;
  size_t size = 0;
  // "::" joins the parts of one modifier, ".L1::no_allocate".
  while (size < rest.size() && (isWord(rest[size]) || (size && rest.substr(size, 2) == "::") ||
                                (size && rest.substr(size - 1, 2) == "::")))
    ++size;
  if (!size && !rest.empty()) {
    size = 1;
    if (rest.front() == '"')
      size = std::min(rest.find('"', 1), rest.size() - 1) + 1;
  }
  token = rest.substr(0, size);
  rest.remove_prefix(size);
}

std::string_view Lexer::peekSecond() const { return rest.substr(0, 1); }

std::string_view Lexer::next() {
  std::string_view result = token;
  lastLine = tokenLine;
  advance();
  return result;
}

bool Lexer::take(std::string_view expected) {
  if (token != expected)
    return false;
  next();
  return true;
}

void Lexer::skipLine() {
  while (tokenLine == lastLine && !token.empty())
    advance();
}

bool lumen::ptx::parseInteger(std::string_view word, uint64_t &result, uint8_t *floatSize) {
  int base = 10;
  auto startsWith = [&](char letter) {
    return word.size() > 2 && word.front() == '0' && (word[1] | 32) == letter;
  };
  bool isSingle = startsWith('f') && word.size() == 10,
       isDouble = startsWith('d') && word.size() == 18;
  if (isSingle || isDouble || startsWith('x')) {
    base = 16;
    word.remove_prefix(2);
  } else if (startsWith('b')) {
    base = 2;
    word.remove_prefix(2);
  }
  if (!word.empty() && word.back() == 'U')
    word.remove_suffix(1);
  auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), result, base);
  if (code != std::errc() || end != word.data() + word.size())
    return false;
  if (floatSize)
    *floatSize = isSingle ? 4 : isDouble ? 8 : 0;
  return true;
}
