// Names the content type of files, by magika's model compiled with lumenc.

#include "magika.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "settings.h"

namespace {

struct Answer {
  const char *label;
  double score;
};

/// What the model looks at: the size of a file, and at most kBlockSize bytes of
/// both ends.
struct Ends {
  std::uint64_t size;
  std::string begin, end;
};

bool readEnds(const char *path, Ends &ends) {
  std::FILE *file = std::fopen(path, "rb");
  if (!file)
    return false;
  bool ok = std::fseek(file, 0, SEEK_END) == 0;
  long size = ok ? std::ftell(file) : -1;
  if ((ok = ok && size >= 0)) {
    ends.size = static_cast<std::uint64_t>(size);
    std::size_t length = std::min<std::uint64_t>(ends.size, kBlockSize);
    auto readAt = [&](long offset, std::string &bytes) {
      bytes.resize(length);
      return std::fseek(file, offset, SEEK_SET) == 0 &&
             std::fread(bytes.data(), 1, length, file) == length;
    };
    ok = readAt(0, ends.begin) && readAt(size - static_cast<long>(length), ends.end);
  }
  std::fclose(file);
  return ok;
}

/// The tokens of both ends without the white space around them, padded inwards.
std::array<std::int32_t, kBeginSize + kEndSize> tokens(const Ends &ends) {
  constexpr const char *kSpace = " \t\n\r\v\f";
  std::array<std::int32_t, kBeginSize + kEndSize> result;
  result.fill(kPadding);

  std::size_t first = std::min(ends.begin.find_first_not_of(kSpace), ends.begin.size());
  for (std::size_t i = first; i < ends.begin.size() && i - first < kBeginSize; ++i)
    result[i - first] = static_cast<unsigned char>(ends.begin[i]);

  std::size_t past = ends.end.find_last_not_of(kSpace) + 1; // npos + 1 is 0
  std::size_t length = std::min(past, kEndSize);
  for (std::size_t i = 0; i < length; ++i)
    result[result.size() - length + i] = static_cast<unsigned char>(ends.end[past - length + i]);
  return result;
}

bool isUtf8(const std::string &text) {
  for (std::size_t i = 0; i < text.size();) {
    unsigned char lead = text[i++];
    unsigned more = lead < 0x80       ? 0
                    : lead >> 5 == 6  ? 1
                    : lead >> 4 == 14 ? 2
                    : lead >> 3 == 30 ? 3
                                      : 4;
    if (more == 4 || text.size() - i < more)
      return false;
    std::uint32_t code = lead & (0x7f >> (more ? more + 1 : 0));
    for (unsigned k = 0; k < more; ++k, ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)
        return false;
      code = code << 6 | (text[i] & 0x3f);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return false;
  }
  return true;
}

/// Runs the model where a file has enough to say. False: see `status`.
bool classify(lumen_context *context, const Ends &ends, Answer &answer, lumen_status &status) {
  if (ends.size == 0) {
    answer = {"empty", 1.0};
    return true;
  }
  std::array<std::int32_t, kBeginSize + kEndSize> input = tokens(ends);
  if (ends.size < kMinSize || input[kMinSize - 1] == kPadding) {
    answer = {isUtf8(ends.begin) ? "txt" : "unknown", 1.0};
    return true;
  }
  std::array<float, std::size(kContentTypes)> scores;
  lumen_value in = magika_input_bytes(input.data());
  lumen_value out = magika_output_target_label(scores.data());
  if (lumen_run(context, &in, 1, &out, 1, &status))
    return false;
  std::size_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  const ContentType &type = kContentTypes[best];
  answer = {scores[best] >= type.threshold ? type.answer : type.generic, scores[best]};
  return true;
}

} // namespace

int main(int argc, char **argv) {
  lumen_status status;
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  if (magika_open(nullptr, &model, &status) ||
      lumen_context_create(model, nullptr, &context, &status)) {
    std::fprintf(stderr, "%s\n", status.message);
    return 1;
  }

  std::size_t width = 4;
  for (int i = 1; i < argc; ++i)
    width = std::max(width, std::string(argv[i]).size());
  std::printf("%-*s  %-14s  %s\n", static_cast<int>(width), "file", "label", "score");

  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    Ends ends;
    Answer answer;
    if (!readEnds(argv[i], ends)) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      ++failures;
    } else if (!classify(context, ends, answer, status)) {
      std::fprintf(stderr, "%s: %s\n", argv[i], status.message);
      ++failures;
    } else {
      std::printf("%-*s  %-14s  %.4f\n", static_cast<int>(width), argv[i], answer.label,
                  answer.score);
    }
  }
  lumen_context_free(context);
  lumen_model_free(model);
  return failures ? 1 : 0;
}
