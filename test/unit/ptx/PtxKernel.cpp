//===- PtxKernel.cpp - small kernels of PTX for tests ---------------------===//

#include "PtxKernel.h"

using namespace lumen::ptx;

std::string lumen::ptx::moduleOf(const std::string &body, const std::string &declarations,
                                 const char *target) {
  return std::string(".version 8.0\n.target ") + target + "\n.address_size 64\n" + declarations +
         "\n.visible .entry k(\n.param .u64 .ptr .global .align 4 x,\n.param .u64 y\n)\n{\n"
         ".reg .pred %p<20>;\n.reg .b16 %h<20>;\n.reg .b32 %r<20>, %t;\n"
         ".reg .b64 %d<20>, %x, %y;\n"
         "ld.param.b64 %x, [x];\nld.param.b64 %y, [y];\nmov.u32 %t, %tid.x;\n" +
         body + "\nret;\n}\n";
}

static constexpr uint64_t kX = 0x10000, kY = 0x10000000;

std::string RunKernel::operator()(const std::string &body, const std::string &declarations) {
  std::string error;
  std::unique_ptr<Program> program = Program::parse(moduleOf(body, declarations), error);
  if (!program)
    return error;
  Memory memory;
  memory.add({kX, x.size() * 4, reinterpret_cast<char *>(x.data()), "x"});
  memory.add({kY, y.size() * 4, reinterpret_cast<char *>(y.data()), "y"});
  uint64_t parameters[] = {kX, kY};
  Launch launch{program->findEntry("k"),
                {groups, 1, 1},
                {threads, 1, 1},
                dynamicShared,
                reinterpret_cast<char *>(parameters),
                checks};
  return run(*program, launch, memory);
}

std::vector<uint64_t> lumen::ptx::compute(const std::string &instruction,
                                          const std::string &letters,
                                          const std::vector<lumen::ptx::Row> &rows) {
  auto bits = [](char letter) { return letter == 'h' ? "16" : letter == 'd' ? "64" : "32"; };
  const std::string names = "oabc";
  std::string body = "{\n";
  for (size_t i = 0; i < letters.size(); ++i)
    body += std::string(".reg ") + (letters[i] == 'p' ? ".pred" : ".b") +
            (letters[i] == 'p' ? "" : bits(letters[i])) + " %" + names[i] + ";\n";
  body += "mov.u32 %r0, %ctaid.x;\nshl.b32 %r1, %r0, 5;\nadd.u32 %r2, %r1, %t;\n"
          "mul.wide.u32 %d0, %r2, 24;\nadd.s64 %d1, %x, %d0;\n"
          "mul.wide.u32 %d2, %r2, 8;\nadd.s64 %d3, %y, %d2;\n";
  for (size_t i = 1; i < letters.size(); ++i) {
    std::string place = "[%d1+" + std::to_string(8 * (i - 1)) + "];\n";
    if (letters[i] == 'p')
      body += "ld.global.b32 %r3, " + place + "and.b32 %r3, %r3, 1;\nsetp.ne.b32 %" + names[i] +
              ", %r3, 0;\n";
    else
      body += std::string("ld.global.b") + bits(letters[i]) + " %" + names[i] + ", " + place;
  }
  body += instruction + ";\n";
  if (letters[0] == 'p')
    body += "selp.b32 %r4, 1, 0, %o;\nst.global.b32 [%d3], %r4;\n";
  else
    body += std::string("st.global.b") + bits(letters[0]) + " [%d3], %o;\n";
  RunKernel run;
  run.groups = static_cast<uint32_t>(rows.size() / 32);
  run.x.resize(rows.size() * 6);
  run.y.assign(rows.size() * 2, 0);
  std::memcpy(run.x.data(), rows.data(), run.x.size() * 4);
  std::string error = run(body + "}\n");
  if (!error.empty()) {
    ADD_FAILURE() << error;
    return {};
  }
  std::vector<uint64_t> results(rows.size());
  std::memcpy(results.data(), run.y.data(), results.size() * 8);
  return results;
}

std::vector<lumen::ptx::Row> lumen::ptx::someRows(uint32_t count) {
  std::vector<uint64_t> special = {0, 1, 2, 5, 31, 32, 33, 63, 64, 100};
  for (int bit : {7, 8, 15, 16, 31, 32, 63})
    for (uint64_t near : {0, 1, -1})
      special.push_back((1ull << bit) + near);
  // Of f16, bf16 and f32: infinity, NaN, one, the largest, the smallest normal and subnormal.
  for (uint32_t half : {0x7C00, 0x7E00, 0x3C00, 0x7BFF, 0x0400, 0x0001, 0x3F80, 0x7F80, 0x7FC0})
    special.push_back(half | half << 16);
  for (uint32_t single : {0x7F800000u, 0x7FC00000u, 0x3F800000u, 0x7F7FFFFFu, 0x00800000u, 1u,
                          0x3F000000u, 0x4B000001u, 0x4F000000u, 0x4EFFFFFFu})
    special.push_back(single);
  for (double number : {1.0, 0.5, 2.5, 3.5, 1e300, 1e-310, 9.2e18, 1.0 / 0.0, std::nan("")})
    special.push_back(bitsAs<uint64_t>(number));
  for (size_t i = 0, end = special.size(); i < end; ++i) {
    special.push_back(special[i] ^ 0x8000);
    special.push_back(special[i] ^ 0x80000000);
    special.push_back(special[i] ^ (1ull << 63));
  }
  std::mt19937_64 random(count);
  std::vector<Row> rows;
  for (uint32_t i = 0; i < count; ++i) {
    Row &row = rows.emplace_back();
    for (uint64_t &bits : row) {
      uint32_t choice = random() % 4;
      // Floats of moderate size meet each other's bits; others are random or special.
      if (choice == 0)
        bits = special[random() % special.size()];
      else if (choice == 1)
        bits = bitsAs<uint32_t>(static_cast<float>(std::ldexp(random() % 4096 - 2048.0, -6)));
      else if (choice == 2)
        bits = bitsAs<uint64_t>(std::ldexp(random() % 65536 - 32768.0, -8));
      else
        bits = random();
    }
  }
  return rows;
}
