// RegexFullMatch. Results are those of ONNX Runtime.
#include "CallModel.h"

using namespace lumen::test;

namespace {

std::string match(const std::string &pattern, const Strings &texts, std::vector<uint8_t> *found) {
  CallModel model;
  Args in = {model.stringsIn("x", 1)};
  Attributes attributes;
  attributes.string(pattern);
  model.addCall(lumen_call_regex_full_match, in, model.tensorOut("y", LUMEN_ABI_BOOL, 1),
                attributes);
  OpenModel opened(model);
  StringsValue x(texts, {int64_t(texts.size())});
  lumen_value inputs[1] = {x.value}, outputs[1] = {};
  std::string message = opened.run(inputs, outputs);
  if (message.empty())
    *found = dataOf<uint8_t>(outputs[0]);
  return message;
}

TEST(RegexTest, Matches) {
  struct Case {
    const char *pattern;
    Strings texts;
    std::vector<uint8_t> found;
  };
  for (const Case &test : std::initializer_list<Case>{
           {"a*", {"", "aaa", "b"}, {1, 1, 0}},
           {"(www.[\\w.-]+\\.com)", {"www.google.com", "www.bbc.co.uk"}, {1, 0}},
           {"(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)",
            {"account@gmail.com", "account@hotmail.com", "not email", "account2@yahoo.com"},
            {1, 0, 0, 1}},
           {".", {"é", "\n", "ab", "x"}, {1, 0, 0, 1}},
           {"(?i)ab", {"AB", "aB", "ac"}, {1, 1, 0}},
           {"(?i:a)b", {"Ab", "AB"}, {1, 0}},
           {"(?i)[b-d]", {"C", "e"}, {1, 0}},
           {"(?s).", {"\n"}, {1}},
           {"[^a]", {"b", "é", "a", "\n"}, {1, 1, 0, 1}},
           {"a{2,3}", {"a", "aa", "aaa", "aaaa"}, {0, 1, 1, 0}},
           {"a{2}", {"aa", "aaa"}, {1, 0}},
           {"a{2,}", {"a", "aaaaa"}, {0, 1}},
           {"\\bfoo\\b", {"foo"}, {1}},
           {"f\\Boo", {"foo"}, {1}},
           {"f\\boo", {"foo"}, {0}},
           {"[[:alpha:]]+", {"ab", "a1"}, {1, 0}},
           {"[^[:alpha:]\\d]+", {"..", "a", "1"}, {1, 0, 0}},
           {"[\\D]", {"a", "1"}, {1, 0}},
           {"a|b|", {"", "a", "c"}, {1, 1, 0}},
           {"[]a]+", {"]a"}, {1}},
           {"[^]]", {"a", "]"}, {1, 0}},
           {"[a-]+", {"a-"}, {1}},
           {"a{,2}", {"a{,2}", "a"}, {1, 0}},
           {"^a$", {"a"}, {1}},
           {"\\Aa\\z", {"a"}, {1}},
           {"(?m)^a$\n^b$", {"a\nb"}, {1}},
           {"a$\nb", {"a\nb"}, {0}},
           {"\\d+", {"12", "٣"}, {1, 0}},
           {"\\x41\\x{e9}\\t\\.\\060?", {"Aé\t.", "Aé\t.0", "a"}, {1, 1, 0}},
           {"(?P<name>a+)(?:b|c)*?", {"aabcb", "b"}, {1, 0}},
           {"(a*)*(b*)*", {"aabb", "ba"}, {1, 0}},
           {"((){1000}){1000}x", {"x"}, {1}},
           {"[à-ü]+", {"éö", "e"}, {1, 0}},
           {"", {"", "a"}, {1, 0}}}) {
    std::vector<uint8_t> found;
    EXPECT_EQ(match(test.pattern, test.texts, &found), "") << test.pattern;
    EXPECT_EQ(found, test.found) << test.pattern;
  }
}

// What is not known, or no pattern at all, is named.
TEST(RegexTest, Errors) {
  struct Case {
    const char *pattern, *error;
  };
  for (const Case &test : std::initializer_list<Case>{
           {"(a", "has a ( without )"},
           {"a)", "has a ) without ("},
           {"[a", "has a [ without ]"},
           {"[", "has a [ without ]"},
           {"*a", "has nothing to repeat before a *, + or ?"},
           {"a\\", "ends in a \\"},
           {"\\pL", "has a \\p, which is not supported"},
           {"(a)\\1", "refers back to a group, which is not supported"},
           {"(?<=a)b", "has a group with a wrong name, or looks around, which is not supported"},
           {"(?=a)b", "has a (? with an unknown flag, or looks around, which is not supported"},
           {"[b-a]", "has a range that ends before it begins"},
           {"[[:letter:]]", "has a class of an unknown name"},
           {"a{3,2}", "has a wrong number of repetitions"},
           {"a{1001}", "has a wrong number of repetitions"},
           {"\\x4", "has a wrong \\x"},
           {"\\y", "has a \\ before a letter without a meaning here"},
           {"((a{1000}){1000}){1000}", "is too long"}}) {
    std::vector<uint8_t> found;
    EXPECT_EQ(match(test.pattern, {"a"}, &found),
              std::string("calls: Call 'c': the pattern '") + test.pattern + "' " + test.error);
  }
  std::vector<uint8_t> found;
  std::string deep(5000, '(');
  EXPECT_NE(match(deep, {"a"}, &found).find("has groups too deep"), std::string::npos);
}

// The time does not explode where others backtrack.
TEST(RegexTest, Time) {
  std::vector<uint8_t> found;
  EXPECT_EQ(match("(a*)*(a|aa)*c", {std::string(20000, 'a')}, &found), "");
  EXPECT_EQ(found, std::vector<uint8_t>({0}));
}

} // namespace
